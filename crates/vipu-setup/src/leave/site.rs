//! The configuration of the site, and what is left of slurm-vipu in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs, io};

use anyhow::{Context, Result};
use driver::journal::{self, LiveRecord};
use slurm_conf::{Files, Plugstack, SlurmConf};
use vipu_conf::{AdminSocket, Settings};
use vipu_types::{Words, words};

/// The configuration of slurmctld's host.
pub struct Site {
    /// slurm.conf.
    pub path: PathBuf,
    pub conf: SlurmConf,
    pub plugstack: Plugstack,
    /// vipu.conf and each `<model>.conf`: the files beside slurm.conf that name a controller.
    pub model_files: Vec<PathBuf>,
    /// The settings of each of these files, or why one of the files is not read.
    pub settings: Result<Vec<Settings>, Words>,
    /// The partitions of the journal, or why nobody knows them.
    pub journal: Result<Vec<LiveRecord>, Words>,
}

/// As the C library's `glob`: `*` matches no hidden file.
const AS_SLURM: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The files of this host.
struct OnDisk;

impl Files for OnDisk {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    }

    fn matching(&mut self, pattern: &Path) -> Vec<PathBuf> {
        glob::glob_with(&pattern.to_string_lossy(), AS_SLURM).into_iter().flatten().flatten().collect()
    }
}

impl Site {
    pub fn read(slurm_conf: Option<&Path>) -> Result<Self> {
        let named = slurm_conf.map(Path::to_owned).or_else(|| env::var_os("SLURM_CONF").map(PathBuf::from));
        let path = named.unwrap_or_else(|| "/etc/slurm/slurm.conf".into());
        let conf = SlurmConf::read(&path, &mut OnDisk)
            .with_context(|| format!("{}: run this on slurmctld's host, as root", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let beside = folder.join("plugstack.conf");
        let plugstack = conf.value("PlugStackConfig").map_or(beside, PathBuf::from);
        let plugstack = Plugstack::read(&plugstack, &mut OnDisk).unwrap_or_default();
        let model_files = model_files(folder);
        let settings = settings(&model_files);
        let mut site = Self { path, conf, plugstack, model_files, settings, journal: Ok(Vec::new()) };
        site.journal = journal(&site.journal_path());
        Ok(site)
    }

    pub fn select_type(&self) -> String {
        format!("SelectType={}", self.conf.value("SelectType").unwrap_or("(none)"))
    }

    /// Whether slurmctld loads select_vipu.so at its next start.
    pub fn has_our_selector(&self) -> bool {
        self.conf.value("SelectType").is_some_and(|value| value.starts_with("select/vipu"))
    }

    /// The SelectType with which slurmctld runs.
    pub fn running_select_type(&self) -> Result<String> {
        let output =
            self.slurm("scontrol").args(["show", "config"]).output().context("cannot run scontrol")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let found = lines
            .find(|(key, _)| key.trim() == "SelectType")
            .context("slurmctld does not answer: start it with the new slurm.conf first")?;
        Ok(found.1.trim().to_owned())
    }

    pub fn state_save_location(&self) -> PathBuf {
        self.conf.value("StateSaveLocation").unwrap_or("/var/spool").into()
    }

    /// The socket for administrators, unless there is to be none.
    pub fn admin_socket(&self) -> Option<PathBuf> {
        match vipu_conf::admin_socket_of(self.path.parent()?) {
            Some(AdminSocket::At(path)) => Some(path),
            Some(AdminSocket::None) => None,
            None => Some(vipu_admin::socket_beside(self.conf.value("SlurmctldPidFile"))),
        }
    }

    pub fn journal_path(&self) -> PathBuf {
        self.state_save_location().join("vipu_journal")
    }

    /// A command of Slurm that uses this slurm.conf.
    pub fn slurm(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", &self.path);
        command
    }

    /// The directories of IPUoF files, of today's settings and of the journal.
    pub fn ipuof_dirs(&self) -> BTreeSet<PathBuf> {
        let journal = self.journal.as_deref().unwrap_or_default();
        let used = journal.iter().filter_map(|record| record.ipuof_dir.clone());
        self.settings.iter().flatten().filter_map(|settings| settings.ipuof_dir.clone()).chain(used).collect()
    }
}

/// The files beside slurm.conf that name a controller.
fn model_files(folder: &Path) -> Vec<PathBuf> {
    let files = OnDisk.matching(&folder.join("*.conf")).into_iter();
    let names_controller =
        |file: &PathBuf| OnDisk.read(file).is_ok_and(|text| text.to_lowercase().contains("apihost"));
    files.filter(names_controller).collect()
}

fn settings(files: &[PathBuf]) -> Result<Vec<Settings>, Words> {
    let read = |file: &PathBuf| vipu_conf::load_file(file).map(|good| good.settings);
    files.iter().map(|file| read(file).map_err(|why| why.one_line())).collect()
}

fn journal(path: &Path) -> Result<Vec<LiveRecord>, Words> {
    match fs::read(path) {
        Ok(text) => journal::compacted(&text, |_| None).map(|(live, _)| live),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(why) => Err(words!("cannot read it: {why}")),
    }
}

/// Something that is left of slurm-vipu.
pub struct Left {
    subject: String,
    what: String,
    /// What the administrator does about it.
    fix: String,
}

impl Left {
    pub fn new(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.subject, self.what, self.fix)
    }
}
