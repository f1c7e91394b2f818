//! Whole files, and files that are broken in any way.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use slurm_conf::{Edits, Files, HostList, Plugstack, SlurmConf};

/// Files in memory. A pattern matches the paths that begin with what stands before its `*`.
struct Texts(BTreeMap<PathBuf, String>);

impl Texts {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect())
    }
}

impl Files for Texts {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        let start = pattern.to_str().unwrap().split('*').next().unwrap().to_owned();
        self.0.keys().filter(|path| path.to_str().unwrap().starts_with(&start)).cloned().collect()
    }
}

fn slurm_conf(files: &[(&str, &str)]) -> SlurmConf {
    SlurmConf::read(Path::new("/etc/slurm/slurm.conf"), &mut Texts::new(files)).unwrap()
}

fn plugstack(files: &[(&str, &str)]) -> Plugstack {
    Plugstack::read(Path::new("/etc/slurm/plugstack.conf"), &mut Texts::new(files)).unwrap()
}

fn problems(problems: &[slurm_conf::Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn cli_slurm_conf_keys_nodes_and_partitions() {
    let text = "ClusterName=Pods # ours\nselecttype=select/vipu\nSelectType=select/linear\n\
                Prolog=/a\nProlog=/b\nDownNodes=n2 Reason=\"two words\" State=DOWN\n\
                NodeName=early CPUs=1\nNodeName=default Gres=vipu:pod64:no_consume:64 CPUs=2\n\
                nodename=n[1-2] \\\n  CPUs=4\nNodeName=DEFAULT CPUs=8\nNodeName=n3 gres=gpu:1\n\
                PartitionName=DEFAULT MaxTime=60\nPartitionName=all Nodes=ALL Default=YES\n";
    let conf = slurm_conf(&[("/etc/slurm/slurm.conf", text)]);
    assert!(conf.problems.is_empty(), "{:?}", conf.problems);
    assert_eq!(conf.value("SELECTTYPE"), Some("select/linear"));
    assert_eq!(conf.line("SelectType").unwrap().place.to_string(), "/etc/slurm/slurm.conf:3");
    assert_eq!(conf.all("Prolog").map(|line| &*line.pair.value).collect::<Vec<_>>(), ["/a", "/b"]);
    assert_eq!(conf.line("DownNodes").unwrap().more[0].value, "two words");
    assert_eq!((conf.all("NodeName").count(), conf.all("NodeName").nth(2).unwrap().count), (5, 2));

    let nodes = conf.nodes();
    let shown = |node: &slurm_conf::Named, key: &str| {
        node.get(key).map_or("-".to_owned(), |found| format!("{}@{}", found.value, found.place.line))
    };
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| {
            format!("{}@{} {} {}", node.name, node.place.line, shown(node, "CPUs"), shown(node, "Gres"))
        })
        .collect();
    let gres = "vipu:pod64:no_consume:64@8";
    assert_eq!(nodes, ["early@7 1@7 -", &format!("n[1-2]@9 4@9 {gres}"), "n3@12 8@11 gpu:1@12"]);
    assert_eq!(shown(&conf.partitions()[0], "maxtime"), "60@13");
}

#[test]
fn cli_slurm_conf_locked_memory() {
    let (only, except) = ("PropagateResourceLimits=", "PropagateResourceLimitsExcept=");
    for (lines, written) in [
        ("", Some(format!("{except}MEMLOCK"))),
        (&format!("{only}ALL"), Some(format!("{except}MEMLOCK"))),
        (&format!("{only}NONE"), None),
        (&format!("{only}CORE,NOFILE"), None),
        (&format!("{only}CORE,RLIMIT_MEMLOCK,NOFILE"), Some(format!("{only}CORE,NOFILE"))),
        (&format!("{only}MEMLOCK"), Some(format!("{only}NONE"))),
        (&format!("{except}NONE"), Some(format!("{except}MEMLOCK"))),
        (&format!("{except}NOFILE"), Some(format!("{except}NOFILE,MEMLOCK"))),
        (&format!("{except}ALL"), None),
        (&format!("{only}ALL\n{except}CORE,MEMLOCK"), None),
    ] {
        let conf = slurm_conf(&[("/etc/slurm/slurm.conf", lines)]);
        let found = conf.locked_memory().map(|found| format!("{}={}", found.key, found.value));
        assert_eq!(found, written, "{lines}");
    }
}

#[test]
fn cli_slurm_conf_prolog_hears_srun_without_alloc() {
    let hears =
        |lines: &str, release| slurm_conf(&[("/etc/slurm/slurm.conf", lines)]).prolog_hears_srun(release);
    let (old, new) = (0x16_05_08, 0x1a_05_00);
    assert!(hears("Prolog=/a\n", new) && !hears("Epilog=/a\nPrologSlurmctld=/a\n", old));
    for (flags, heard) in [
        ("alloc", [false, false]),
        ("Serial,NoHold", [false, false]),
        ("X11", [false, false]),
        ("Contain,DeferBatch", [false, false]),
        ("DeferBatch", [true, false]),
        ("Serial", [true, true]),
    ] {
        let conf = format!("Prolog=/a\nPrologFlags={flags}\n");
        assert_eq!([hears(&conf, old), hears(&conf, new)], heard, "{flags}");
    }
}

#[test]
fn cli_slurm_conf_included_files() {
    let conf = slurm_conf(&[
        ("/etc/slurm/slurm.conf", "ClusterName=Pods\nINCLUDE sub/%c.conf\nInclude /x y\nA=2\n"),
        ("/etc/slurm/sub/pods.conf", "A=1\nB=1\ninclude gone\nInclude *.conf\nInclude \n Include x\n"),
        ("/x", "C=1"),
    ]);
    let value = |key| conf.value(key).unwrap_or_default();
    assert_eq!((value("A"), value("B"), value("C")), ("2", "1", "1"));
    assert_eq!(conf.files.len(), 3);
    assert_eq!(
        problems(&conf.problems),
        [
            "/etc/slurm/sub/pods.conf:3: cannot read /etc/slurm/gone: entity not found",
            "/etc/slurm/sub/pods.conf:4: Include takes one file, not the pattern *.conf",
            "/etc/slurm/sub/pods.conf:5: Include has no file",
            "/etc/slurm/sub/pods.conf:6: 'Include x' is no Key=Value",
            "/etc/slurm/slurm.conf:3: 'y' follows the value of Include: begin a new line",
        ]
    );
}

#[test]
fn cli_slurm_conf_lines_that_slurm_does_not_take() {
    let text = "Include %c\nA=1 B=2\nnonsense\nNodeName=n1 CPUs=1 oops Gres=x\nC=\n";
    let conf = slurm_conf(&[("/etc/slurm/slurm.conf", text)]);
    assert_eq!((conf.value("A"), conf.value("B")), (Some("1"), None));
    assert!(conf.nodes()[0].get("CPUs").is_some() && conf.nodes()[0].get("Gres").is_none());
    assert_eq!(
        problems(&conf.problems),
        [
            "/etc/slurm/slurm.conf:1: %c: ClusterName must be above an Include with %c",
            "/etc/slurm/slurm.conf:2: 'B=2' follows the value of A: begin a new line",
            "/etc/slurm/slurm.conf:3: 'nonsense' is no Key=Value",
            "/etc/slurm/slurm.conf:4: 'oops Gres=x' is no Key=Value",
            "/etc/slurm/slurm.conf:5: 'C=' is no Key=Value",
        ]
    );
}

#[test]
fn cli_slurm_conf_files_that_include_themselves() {
    let conf = slurm_conf(&[("/etc/slurm/slurm.conf", "A=1\nInclude slurm.conf\n")]);
    assert_eq!(conf.problems.len(), 1);
    // Two lines would double the files at each step, if their number had no end.
    let twice = "include plugstack.conf\ninclude plugstack.conf\n";
    let stack = plugstack(&[("/etc/slurm/plugstack.conf", twice)]);
    assert_eq!(stack.files.len(), 1000);
}

#[test]
fn cli_slurm_conf_edits_of_values() {
    for (text, new) in [
        ("A=Gres Gres=1", "A=Gres Gres=1"),
        ("NodeName=n Gres=vi\\\npu:64 # é\nB=1", "NodeName=n Gres=é\\#\\\\ # é\nB=1"),
        ("Gres=é\\ # c\n\\#\\\\", "Gres=é\\ # c\n\\#\\\\"),
        ("Gres=\"\"", "Gres=\"é\\#\\\\\""),
        ("Gres=é\\#é", "Gres=é\\#\\\\"),
    ] {
        let conf = slurm_conf(&[("/etc/slurm/slurm.conf", text)]);
        let mut edits = Edits::new(text);
        let pairs = conf.lines.iter().flat_map(|line| line.more.iter().chain([&line.pair]));
        pairs.filter(|pair| pair.is("Gres")).for_each(|pair| edits.set(pair, "é#\\"));
        assert_eq!(edits.apply(), new, "{text}");
    }
}

#[test]
fn cli_slurm_conf_edits_of_whole_lines() {
    for (text, new) in [
        ("", "above\nend\n"),
        ("A=1", "above\nA=1\nend\n"),
        ("A=1\\\n", "above\nA=1\\\n\nend\n"),
        ("A=1\\", "above\nA=1\\\n\nend\n"),
        ("A=1\r\nB=1\r", "above\r\nA=1\r\nB=1\r\nend\r\n"),
        ("A=1\r\nB=1", "above\r\nA=1\r\nB=1\r\nend\r\n"),
    ] {
        let mut edits = Edits::new(text);
        edits.add("end");
        edits.add_above(1, "above");
        assert_eq!(edits.apply(), new, "{text:?}");
    }
    let mut edits = Edits::of_plugstack("# x\r\n");
    edits.add("end");
    assert_eq!(edits.apply(), "# x\r\nend\n");
    let text = "A=1\nB=1 \\\n2\nC=1";
    let conf = slurm_conf(&[("/etc/slurm/slurm.conf", text)]);
    let mut edits = Edits::new(text);
    conf.all("B").for_each(|line| edits.remove(&line.place, line.count));
    assert_eq!(edits.apply(), "A=1\nC=1");
}

#[test]
fn cli_slurm_conf_plugstack() {
    let stack = plugstack(&[
        (
            "/etc/slurm/plugstack.conf",
            "#required a.so\n\r\nrequired\nRequired b.so\ninclude d/*\noptional c.so\r",
        ),
        ("/etc/slurm/d/1", "\trequired /lib/spank_ipuof.so  ipuof_dir=/s#x\tipuof_dir=/t\ninclude 2*\n"),
        ("/etc/slurm/d/2", "optional e.so a=b\tc\n"),
        ("/else", "required f.so"),
    ]);
    let ours = stack.plugin("spank_ipuof.so").unwrap();
    assert_eq!((ours.place.to_string(), ours.required), ("/etc/slurm/d/1:1".to_owned(), true));
    assert_eq!((ours.argument("ipuof_dir"), ours.argument("ipuof")), (Some("/s"), None));
    let names: Vec<_> = stack.plugins.iter().map(|plugin| plugin.file_name()).collect();
    assert_eq!(names, ["spank_ipuof.so", "e.so", "e.so", "c.so\r"]);
    assert_eq!(stack.plugins[1].arguments, ["a=b", "c"]);
    assert_eq!(
        problems(&stack.problems),
        [
            "/etc/slurm/plugstack.conf:3: 'required' is neither required, optional nor include with a path",
            "/etc/slurm/plugstack.conf:4: 'Required b.so' is neither required, optional nor include with a path",
        ]
    );
    let missing = Plugstack::read(Path::new("/gone"), &mut Texts::new(&[]));
    assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
}

proptest! {
    /// Any text can be read, and each place is a line of it.
    #[test]
    fn cli_slurm_conf_any_text(text in "([#\\\\\"=\\[\\],\n\0 é]|NodeName=|DEFAULT|Include |include |required |a|[0-9]-?)*") {
        let path = Path::new("/f");
        let mut files = Texts::new(&[("/f", &text), ("/a", &text)]);
        let lines = text.lines().count();
        let conf = SlurmConf::read(path, &mut files).unwrap();
        conf.lines.iter().for_each(|line| assert!(line.place.line + line.count <= lines + 1));
        conf.nodes().iter().for_each(|node| drop(HostList::parse(&node.name)));
        let stack = Plugstack::read(path, &mut files).unwrap();
        stack.problems.iter().for_each(|problem| assert!(problem.place.line <= lines));
    }

    /// A list is refused, or has the names that it promises.
    #[test]
    fn cli_slurm_conf_any_host_list(text in "([ab,\\[\\]]|[0-9]{1,3}|-|\\[[0-9]{1,2}-[0-9]{1,2}\\])*") {
        if let Ok(list) = HostList::parse(&text) {
            prop_assert_eq!(list.names().count(), list.count());
        }
    }
}
