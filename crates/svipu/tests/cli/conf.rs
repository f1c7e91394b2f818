//! `svipu conf`, on folders with configuration files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use insta::assert_snapshot;
use svipu::{Arguments, Surroundings};
use tempfile::TempDir;

use super::documents::pod64;
use super::{NOW, printed, surroundings};

/// A folder with slurm.conf and others.
pub(super) struct Site {
    folder: TempDir,
    pub(super) surroundings: Surroundings,
}

impl Site {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut surroundings = surroundings(&[("SLURM_CONF", &folder.path().join("slurm.conf"))]);
        surroundings.etc = folder.path().join("etc");
        surroundings.root = folder.path().into();
        let site = Self { folder, surroundings };
        files.iter().for_each(|(name, text)| site.write(name, text));
        site
    }

    /// Writes a file of an hour ago.
    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.touch(name, NOW - 3600);
    }

    fn touch(&self, name: &str, time: i64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(time.try_into().unwrap());
        fs::File::options().append(true).open(self.path(name)).unwrap().set_modified(time).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The output of a command line. `DIR` in the line stands for the folder.
    pub(super) fn output(&self, line: &str) -> svipu::Output {
        let folder = self.folder.path().to_str().unwrap();
        let words = line.split_whitespace().map(|word| word.replace("DIR", folder));
        let arguments = Arguments::try_parse_from(std::iter::once("svipu".to_owned()).chain(words)).unwrap();
        svipu::run(&arguments, &self.surroundings)
    }

    /// What a command line prints. The folder is called /etc/slurm.
    pub(super) fn run(&self, line: &str) -> String {
        let folder = self.folder.path().to_str().unwrap();
        format!("$ svipu {line}\n{}", printed(&self.output(line))).replace(folder, "/etc/slurm")
    }
}

const SLURM_CONF: &str =
    "NodeName=n[1-2] Gres=vipu:pod64:no_consume:64\nNodeName=n3 Gres=gpu:1,vipu:pod16:no_consume:16\n";
const GOOD: &str = "# ours\nApiHost=vipu.example.org\nIpuofDir=/shared/ipuof\nMaxIpusPerJob=64\n";

fn example(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conf").join(name);
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
    };
    fs::read_dir(folder).unwrap().map(file).collect()
}

#[test]
fn cli_conf_check_of_good_files() {
    let two_models = example("two-models");
    let files: Vec<_> = two_models.iter().map(|(name, text)| (&**name, &**text)).collect();
    let site = Site::new(&[("slurm.conf", SLURM_CONF), ("vipu.conf", GOOD)]);
    let text =
        Site::new(&files).run("conf check") + &site.run("conf check") + &site.run("conf check DIR/vipu.conf");
    assert_snapshot!(text);
}

#[test]
fn cli_conf_check_of_broken_files() {
    let broken = "ApiHosts=a\nIpuofDir=ipuof\nApiPort=8090 \\\n ApiPort=1\n";
    let gres = "ClusterName=a b\nNodeName=n[1-3] Gres=vipu:pod64:64\nNodeName=n[4 Gres=vipu:pod64:64\n\
                NodeName=n5 Gres=vipu:no_consume:3\nNodeName=n6 Gres=vipu:pod4:no_consume:4\n";
    let site = Site::new(&[
        ("slurm.conf", gres),
        ("vipu.conf", broken),
        ("pod4.conf", "ApiHost=\u{1b}[2J\u{202e}\n"),
    ]);
    let text = site.run("conf check")
        + &site.run("conf check DIR/vipu.conf DIR/vipu.conf DIR/slurm.conf DIR/pod65.conf DIR");
    assert_eq!(text.matches("LinkDomainSize").count(), 2, "the keys are listed once by each run");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
    assert_snapshot!(text);
}

#[test]
fn cli_conf_check_compares_the_files_with_the_nodes() {
    let nodes = "NodeName=n[1-4] Gres=vipu:pod64:no_consume:64\nNodeName=n5\n\
                 NodeName=n6 Gres=vipu:16:no_consume:4,vipu:8:no_consume:1\n";
    let lists = "ApiHost=a,b\nNodes=\"a=n[1-2] b=n3,n[5-6],n9\"\nIpuofDir=/ipuof\n";
    let pool = "ApiHost=c\nMode=pool\nPool=16x4,4x2\nIpuofDir=/ipuof\n";
    let site = Site::new(&[("slurm.conf", nodes), ("pod64.conf", lists), ("vipu.conf", pool)]);
    let overlapping =
        Site::new(&[("slurm.conf", SLURM_CONF), ("vipu.conf", "ApiHost=a,b\nNodes=\"a=n1 b=n[1-2]\"\n")]);
    assert_snapshot!(site.run("conf check") + &overlapping.run("conf check"));
}

/// slurmctld reads Layer and AdminSocket from vipu.conf, also if each model has a file of its own.
#[test]
fn cli_conf_check_of_vipu_conf_that_no_model_reads() {
    let check = |vipu_conf: &str| {
        let own = [("slurm.conf", SLURM_CONF), ("pod64.conf", GOOD), ("pod16.conf", GOOD)];
        let site = Site::new(&own);
        site.write("vipu.conf", vipu_conf);
        site.run("conf check")
    };
    assert_snapshot!(check("Layer=linaer\n") + &check("AdminSocket=/run/vipu.socket\n"));
}

#[test]
fn cli_conf_check_without_models_or_files() {
    let none = Site::new(&[("slurm.conf", "NodeName=n1 CPUs=1\n"), ("vipu.conf", GOOD)]);
    let missing = Site::new(&[("slurm.conf", SLURM_CONF)]);
    let nothing = Site::new(&[]);
    assert_snapshot!([none, missing, nothing].map(|site| site.run("conf check")).concat());
}

/// A site whose slurmctld knows pod64, which it read a minute ago.
fn with_document(files: &[(&str, &str)], error: Option<&str>) -> Site {
    let site = Site::new(files);
    let mut status = pod64();
    status.models[0].conf.read = NOW - 60;
    status.models[0].conf.error = error.map(ToOwned::to_owned);
    status.models[0].conf.in_force = true;
    fs::write(site.path("vipu_status.json"), status.to_json().unwrap()).unwrap();
    site
}

#[test]
fn cli_conf_show() {
    let slurm_conf = ("slurm.conf", SLURM_CONF);
    let site = with_document(&[slurm_conf, ("vipu.conf", GOOD)], None);
    let whole = site.run("conf show --status DIR");
    // The rows differ in nothing but the first lines.
    let head = |text: String| text.lines().take(8).map(|line| format!("{line}\n")).collect::<String>();
    site.touch("vipu.conf", NOW);
    let changed = head(site.run("conf show --status DIR -M pod64"));
    let unknown = head(site.run("conf show --status DIR/none -M pod64"));
    let broken = [slurm_conf, ("vipu.conf", "ApiHost=a\nIpuofdir=b")];
    let broken = with_document(&broken, Some("vipu.conf:2: IpuofDir=b: not an absolute path (/...)"));
    let broken = broken.run("conf show --status DIR -M pod64");
    let wrong = site.run("conf show --status DIR -M pod65");
    let json = head(site.run("conf show --status DIR --json"));
    assert_snapshot!([whole, changed, unknown, broken, wrong, json].join("\n"));
}

#[test]
fn cli_conf_show_tells_what_is_in_force() {
    let shown = |vipu_conf: &str, error: Option<&str>, kept: Option<&str>| {
        let site = with_document(&[("vipu.conf", vipu_conf)], error);
        let state = site.path("state");
        site.write("slurm.conf", &format!("StateSaveLocation={}\n{SLURM_CONF}", state.display()));
        if let Some(text) = kept {
            site.write("state/vipu_conf.pod64", text);
        }
        site.touch("vipu.conf", if error.is_some() { NOW - 3600 } else { NOW });
        let text = site.run("conf show --status DIR -M pod64");
        let json = site.run("conf show --status DIR -M pod64 --json");
        assert!(json.contains("\"in_force\": \"in force: "), "{json}");
        text.lines().take(10).map(|line| format!("{line}\n")).collect::<String>()
    };
    let error = Some("vipu.conf:1: IpuofDir=x: not an absolute path (/...)");
    let mended = GOOD.replace("64", "16");
    let texts = [
        shown("IpuofDir=x ApiHost=a\n", error, Some(GOOD)),
        shown("IpuofDir=x ApiHost=a\n", error, None),
        shown("IpuofDir=x ApiHost=a\n", error, Some("Other=\u{1b}[2J\n")),
        shown(&mended, None, Some(GOOD)),
        shown(&mended, None, None),
        shown(GOOD, None, Some(GOOD)),
        shown("IpuofDir=x ApiHost=a\n", None, Some(GOOD)),
    ];
    let site = with_document(&[("slurm.conf", SLURM_CONF), ("vipu.conf", "IpuofDir=x\n")], None);
    let unchanged = site.run("conf show --status DIR -M pod64");
    assert!(unchanged.contains("when it had no error; the settings of that time"), "{unchanged}");
    fs::remove_file(site.path("vipu.conf")).unwrap();
    fs::create_dir(site.path("vipu.conf")).unwrap();
    let unreadable = site.run("conf show --status DIR -M pod64");
    assert!(unreadable.contains("when it had no error; svipu cannot read it now"), "{unreadable}");
    assert_snapshot!(texts.join("\n"));
}
