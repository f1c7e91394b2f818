//! Slurm's commands, run on a cluster as any user.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use crate::{
    Account, Cluster, Hosts,
    cluster::RunsCommands,
    process::{Lead, Leashed, Process, Start},
    wait_for,
};

/// The longest time for a command that waits for nothing.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The longest time that one poll waits for the end of a command.
const AT_ONCE: Duration = Duration::from_millis(200);

#[derive(Debug)]
#[must_use]
pub struct ClusterCommand<'a> {
    host: &'a dyn RunsCommands,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) account: Account,
    pub(crate) environment: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code, or 128 plus the number of a signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Output {
    pub(crate) fn succeeded(self, what: &str) -> Result<Self> {
        let Self { code, stdout, stderr, .. } = &self;
        ensure!(*code == 0, "`{what}` ended with {code}: {stdout}{stderr}");
        Ok(self)
    }
}

#[derive(Debug)]
pub struct Running {
    process: Leashed,
    what: String,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// Returns a number that this process has not given yet, for names of files and jobs.
pub(crate) fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl<H: Hosts> Cluster<H> {
    /// A command on the host where users submit jobs. By default the user who submits runs it: root in a
    /// cluster of one host.
    pub fn command(&self, program: &str) -> ClusterCommand<'_> {
        self.hosts.command(program)
    }

    /// The run time of a command without arguments, as the average of fifty calls.
    pub fn answer_time(&self, program: &str) -> Result<Duration> {
        let calls = format!("set -e; for i in {{1..50}}; do {program} > /dev/null; done");
        Ok(self.command("bash").args(&["-c", &calls]).success()?.took / 50)
    }

    /// Runs `scontrol` as root with these arguments, and returns its standard output.
    pub fn scontrol(&self, args: &[&str]) -> Result<String> {
        Ok(self.command("scontrol").account(&Account::root()?).args(args).success()?.stdout)
    }
}

impl<'a> ClusterCommand<'a> {
    pub(crate) fn new(host: &'a dyn RunsCommands, program: &str, account: Account) -> Self {
        Self { host, program: program.into(), args: Vec::new(), account, environment: Vec::new() }
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    pub fn account(mut self, account: &Account) -> Self {
        self.account = account.clone();
        self
    }

    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Makes Slurm's command show times in seconds since the Unix epoch.
    pub(crate) fn in_seconds(self) -> Self {
        self.env("SLURM_TIME_FORMAT", "%s")
    }

    pub fn start(self) -> Result<Running> {
        self.host.start(&self)
    }

    pub fn output(self) -> Result<Output> {
        self.start()?.output(COMMAND_LIMIT)
    }

    /// Runs the command to its end, and fails with its output if the command does.
    pub fn success(self) -> Result<Output> {
        self.start()?.success(COMMAND_LIMIT)
    }
}

impl Running {
    pub(crate) fn start(lead: &Lead, folder: &Path, start: &Start<'_>) -> Result<Self> {
        let (name, number) = (start.program.file_name().unwrap_or_default().display(), next_number());
        let file = |end: &str| folder.join(format!("{name}-{number}.{end}"));
        let (stdout, stderr) = (file("out"), file("err"));
        let process = lead.start(start, &stdout, &stderr)?;
        // The first line of a script in the arguments is enough.
        let what = format!("{name} {}", start.args.join(" "));
        let what = what.lines().next().unwrap_or_default().to_owned();
        Ok(Self { process, what, started: Instant::now(), stdout, stderr })
    }

    pub fn stdout(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stdout)?)
    }

    pub fn stderr(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stderr)?)
    }

    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        Ok(self.process.signal(signal)?)
    }

    /// The command's process. `None` when the command has ended.
    pub fn process(&mut self) -> Result<Option<Process>> {
        Ok(self.process.process()?)
    }

    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.process.ended()?.is_none())
    }

    /// Waits for the end of the command. Fails with its output if it still runs after `limit`.
    pub fn output(mut self, limit: Duration) -> Result<Output> {
        let what = format!("the end of `{}`", self.what);
        let ended = wait_for(&what, limit, || Ok(self.process.ended_within(AT_ONCE)?));
        let took = self.started.elapsed();
        let (stdout, stderr) = (self.stdout()?, self.stderr()?);
        let status = ended.with_context(|| format!("it said: {stdout}{stderr}"))?;
        let Some(code) = status.code() else { bail!("the leash of `{}` was killed", self.what) };
        Ok(Output { code, stdout, stderr, took })
    }

    pub fn success(self, limit: Duration) -> Result<Output> {
        let what = self.what.clone();
        self.output(limit)?.succeeded(&what)
    }
}
