//! `svipu migrate`, on sites that used one of the vendor's ways.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};
use slurm_release::Version;

use super::conf::Site;
use super::printed;

const STOCK: &str = "ClusterName=pods\nSelectType=select/cons_tres # by CPU\nSelectTypeParameters=CR_CPU\n";

#[test]
fn cli_migrate_from_static_partitions_to_a_pool() {
    let nodes = "NodeName=n1 Gres=vipu:16:2,gpu:1,vipu:4:8\nNodeName=n2 Gres=vipu:16:4\nGresTypes=gpu,vipu\n";
    let site = Site::new(&[("slurm.conf", &format!("{STOCK}{nodes}"))]);
    assert_snapshot!(site.run("migrate --pool"));
    let kept = "SelectType=select/vipu\nGresTypes=vipu\nNodeName=n1 Gres=vipu:16:no_consume:4\n";
    let site = Site::new(&[
        ("slurm.conf", kept),
        ("vipu.conf", "ApiHost=a\nIpuofDir=/shared/ipuof\nMode=pool\nPool=p16_*\n"),
    ]);
    let text = site.run("migrate");
    assert!(!text.contains("partitions made in advance") && !text.contains("+NodeName"), "{text}");
}

#[test]
fn cli_migrate_takes_the_partition_of_a_job_for_no_shared_one() {
    let site = Site::new(&[]);
    let task = site.path("task.sh");
    site.write("slurm.conf", &format!("SelectType=select/linear\nTaskProlog={}\n", task.display()));
    for line in ["ID=p$SLURM_JOB_ID", "ID=$P\nvipu create partition $P"] {
        site.write("task.sh", &format!("#!/bin/sh\necho export IPUOF_VIPU_API_PARTITION_{line}\n"));
        let text = site.run("migrate");
        assert!(text.contains("TaskProlog") && !text.contains("UseReconfigPartition"), "{text}");
    }
}

#[test]
fn cli_migrate_from_hosts_with_ipus_of_their_own() {
    let mut site = Site::new(&[
        ("ipum.allocs", "n1,ag1\n"),
        ("prolog.d/ipu", "grep $HOST ipum.allocs\nlogger x\n"),
        ("prolog.d/d/x", ""),
    ]);
    let prolog = site.path("prolog.d/*");
    site.write("slurm.conf", &format!("{STOCK}NodeName=n1 CPUs=4\nProlog={}\n", prolog.display()));
    site.write("plugstack.conf", "optional \u{1b}[2J.so\nrequired spank_vipu.so");
    assert!(site.run("migrate").contains(" optional \u{1b}[2J.so\n"));
    // A terminal gets no control characters.
    site.surroundings.terminal = true;
    site.surroundings.variables.insert("NO_COLOR".into(), "1".into());
    assert_snapshot!(site.run("migrate"));
}

#[test]
fn cli_migrate_of_a_site_with_slurm_vipu() {
    let slurm_conf = "SelectType=select/vipu\nGresTypes=vipu\nJobSubmitPlugins=lua,vipu\n\
                      PropagateResourceLimitsExcept=ALL\nNodeName=n1 Gres=vipu:pod64:no_consume:64\n";
    let plugstack = "required spank_ipuof.so ipuof_dir=/shared/ipuof\n";
    let vipu_conf = "ApiHost=a\nIpuofDir=/shared/ipuof\n";
    let files = |name| [("slurm.conf", slurm_conf), ("plugstack.conf", plugstack), (name, vipu_conf)];
    let site = Site::new(&files("vipu.conf"));
    let own_file = Site::new(&files("pod64.conf"));
    own_file.write("plugstack.conf", &plugstack.replace('\n', "\r\n"));
    let none = site.run("migrate --slurm-conf DIR/none") + &site.run("migrate --json");
    assert_snapshot!(site.run("migrate") + &own_file.run("migrate") + &none);
}

/// A file of Slurm that tells its release.
fn stock_selector(release: &str) -> Vec<u8> {
    let release: Version = release.trim().parse().unwrap();
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let section = object.section_id(StandardSection::ReadOnlyData);
    let symbol = object.add_symbol(Symbol {
        name: "plugin_version".into(),
        value: 0,
        size: 4,
        kind: SymbolKind::Data,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    object.add_symbol_data(symbol, section, &release.0.to_le_bytes(), 8);
    object.write().unwrap()
}

/// The files of a folder by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_owned();
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    files
}

/// A site of the folder `sites`, and its path. Its file `release` says which Slurm it has.
fn site_of(folder: &Path) -> (Site, String) {
    let site = Site::new(&[]);
    let place = site.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    for (name, bytes) in files(folder) {
        let (name, bytes) = match name.to_str().unwrap() {
            "release" => {
                let release = String::from_utf8(bytes).unwrap();
                ("usr/lib/slurm/select_cons_tres.so".into(), stock_selector(&release))
            }
            name => (name.to_owned(), bytes),
        };
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => text.replace("@DIR@", &place).into_bytes(),
            Err(other) => other.into_bytes(),
        };
        fs::create_dir_all(site.path(&name).parent().unwrap()).unwrap();
        fs::write(site.path(&name), bytes).unwrap();
    }
    (site, place)
}

#[test]
fn cli_migrate_sites() {
    let mut told = String::new();
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/sites")).unwrap();
    let mut folders: Vec<_> = folders.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let (site, place) = site_of(&folder);
        let before = files(&site.path(""));
        let output = site.output("migrate");
        assert_eq!((output.exit, files(&site.path("")) == before), (0, true), "{name}: {}", output.stderr);
        assert!(!printed(&output).contains("secret-key"), "{name}");
        told += &format!("## {name}\n{}", output.stdout);

        let mut patch = Command::new("patch");
        patch
            .args(["-d", "/", "-p1", "--no-backup-if-mismatch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut patch = patch.spawn().unwrap();
        patch.stdin.take().unwrap().write_all(&[output.stdout.as_bytes(), &*output.diff].concat()).unwrap();
        let patched = patch.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&patched.stdout);
        let is_exact = patched.status.success() && !words.contains("fuzz") && !words.contains("offset");
        assert!(is_exact, "{name}: {words}");

        for line in output.diff.trim_ascii_end().split(|byte| *byte == b'\n') {
            told += &format!("{}\n", line.escape_ascii());
        }
        let again = site.output("migrate");
        assert!(again.stdout.contains("need no change"), "{name}: {}", printed(&again));
        told += &printed(&site.output("conf check"));
        told = told.replace(&place, "DIR");
    }
    assert_snapshot!(told);
}

#[test]
fn cli_migrate_needs_the_release_for_a_site_without_select_type() {
    let text = Site::new(&[("slurm.conf", "ClusterName=x\n")]).run("migrate");
    assert!(text.contains("/etc/slurm/slurm.conf: it has no SelectType, and PluginDir has no"), "{text}");
}
