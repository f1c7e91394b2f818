//! Starting the processes of a cluster.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use testbed::Account;
use testbed::process::{Lead, Leashed, Start};

/// The last lines of a log that an error shows.
const SHOWN: usize = 8;

/// What all processes of a cluster have in common.
#[derive(Debug)]
pub(crate) struct Daemons {
    lead: Lead,
    account: Account,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    programs: PathBuf,
}

impl Daemons {
    /// `folder` is that of the cluster, and has the folder `log`.
    pub fn new(folder: &Path, programs: &Path) -> Result<Self> {
        fs::create_dir(folder.join("log"))?;
        let environment = [
            ("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display())),
            ("HOME", folder.display().to_string()),
            ("LANG", "C.UTF-8".into()),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let (folder, programs) = (folder.to_owned(), programs.to_owned());
        Ok(Self { lead: Lead::new()?, account: Account::root()?, environment, folder, programs })
    }

    /// The folder of the cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// Starts the program that these words run. `name` is that of its log.
    pub fn start(&self, name: &str, hostname: Option<&str>, words: &[&str]) -> Result<Leashed> {
        let args: Vec<_> = words[1..].iter().map(|&word| word.to_owned()).collect();
        let start = Start {
            program: Path::new(words[0]),
            args: &args,
            account: &self.account,
            hostname,
            disk: None,
            environment: &self.environment,
            directory: &self.folder,
        };
        self.lead.start(&start, Path::new("/dev/null"), &self.log(name))
    }

    /// A command in the environment of the daemons.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        command
    }

    /// Fails with the end of its log if this daemon has ended.
    pub fn check(&self, name: &str, daemon: &mut Leashed) -> Result<()> {
        match daemon.ended()? {
            Some(status) => bail!("{name} has ended ({status}):\n{}", self.log_end(name)),
            None => Ok(()),
        }
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join("log").join(name)
    }

    fn log_end(&self, name: &str) -> String {
        let log = fs::read_to_string(self.log(name)).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join("\n")
    }

    /// Prints the last lines of all logs.
    pub fn show_logs(&self) {
        for log in fs::read_dir(self.folder.join("log")).into_iter().flatten().flatten() {
            let name = log.file_name().to_string_lossy().into_owned();
            eprintln!("--- {name}\n{}", self.log_end(&name));
        }
    }
}

/// Runs a command. Returns its output, or what it said when it failed.
pub(crate) fn succeed(command: &mut Command) -> Result<String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    ensure!(output.status.success(), "{program} {} ({}): {}", args.join(" "), output.status, said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
