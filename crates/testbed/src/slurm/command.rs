//! Slurm's commands, run against a cluster as any user.

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

/// How long a command may take that is not meant to wait for anything.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// A command that ends within this time is noticed at once.
const AT_ONCE: Duration = Duration::from_millis(200);

/// A command to be run.
#[derive(Debug)]
#[must_use]
pub struct ClusterCommand<'a> {
    host: &'a dyn RunsCommands,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) account: Account,
    pub(crate) environment: Vec<(String, String)>,
}

/// What a command left behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; signals are added to 128.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long the command took.
    pub took: Duration,
}

impl Output {
    /// Wants the command, named by `what`, to have succeeded.
    pub(crate) fn succeeded(self, what: &str) -> Result<Self> {
        let Self { code, stdout, stderr, .. } = &self;
        ensure!(*code == 0, "`{what}` ended with {code}: {stdout}{stderr}");
        Ok(self)
    }
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    process: Leashed,
    what: String,
    started: Instant,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// A number that this process gives once: for names of files and jobs.
pub(crate) fn next_number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

impl<H: Hosts> Cluster<H> {
    /// A command where users submit jobs, as the user who does so unless told otherwise: root, in a cluster of one host.
    pub fn command(&self, program: &str) -> ClusterCommand<'_> {
        self.hosts.command(program)
    }

    /// How long a command without arguments takes, on the average of fifty calls.
    pub fn answer_time(&self, program: &str) -> Result<Duration> {
        let calls = format!("set -e; for i in {{1..50}}; do {program} > /dev/null; done");
        Ok(self.command("bash").args(&["-c", &calls]).success()?.took / 50)
    }

    /// `scontrol` as root with these arguments; its standard output.
    pub fn scontrol(&self, args: &[&str]) -> Result<String> {
        Ok(self.command("scontrol").account(&Account::root()?).args(args).success()?.stdout)
    }
}

impl<'a> ClusterCommand<'a> {
    pub(crate) fn new(host: &'a dyn RunsCommands, program: &str, account: Account) -> Self {
        Self { host, program: program.into(), args: Vec::new(), account, environment: Vec::new() }
    }

    /// More arguments.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// As this account.
    pub fn account(mut self, account: &Account) -> Self {
        self.account = account.clone();
        self
    }

    /// With this variable.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Starts it.
    pub fn start(self) -> Result<Running> {
        self.host.start(&self)
    }

    /// Runs it to its end.
    pub fn output(self) -> Result<Output> {
        self.start()?.output(COMMAND_LIMIT)
    }

    /// Runs it and wants it to succeed.
    ///
    /// # Errors
    /// When it does not; its own words are in the message.
    pub fn success(self) -> Result<Output> {
        self.start()?.success(COMMAND_LIMIT)
    }
}

impl Running {
    /// Starts a program on this lead; what it prints goes to files in `folder`.
    pub(crate) fn start(lead: &Lead, folder: &Path, start: &Start<'_>) -> Result<Self> {
        let (name, number) = (start.program.file_name().unwrap_or_default().display(), next_number());
        let file = |end: &str| folder.join(format!("{name}-{number}.{end}"));
        let (stdout, stderr) = (file("out"), file("err"));
        let process = lead.start(start, &stdout, &stderr)?;
        // Of a script in the arguments the first line will do.
        let what = format!("{name} {}", start.args.join(" "));
        let what = what.lines().next().unwrap_or_default().to_owned();
        Ok(Self { process, what, started: Instant::now(), stdout, stderr })
    }

    /// Its standard output up to now.
    pub fn stdout(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stdout)?)
    }

    /// Its standard error up to now.
    pub fn stderr(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stderr)?)
    }

    /// Sends a signal to the command.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        Ok(self.process.signal(signal)?)
    }

    /// The command's process; `None` when it has ended.
    pub fn process(&mut self) -> Result<Option<Process>> {
        Ok(self.process.process()?)
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.process.ended()?.is_none())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it has not ended after `limit`: what it said is in the message.
    pub fn output(mut self, limit: Duration) -> Result<Output> {
        let what = format!("the end of `{}`", self.what);
        let ended = wait_for(&what, limit, || Ok(self.process.ended_within(AT_ONCE)?));
        let took = self.started.elapsed();
        let (stdout, stderr) = (self.stdout()?, self.stderr()?);
        let status = ended.with_context(|| format!("it said: {stdout}{stderr}"))?;
        let Some(code) = status.code() else { bail!("the leash of `{}` was killed", self.what) };
        Ok(Output { code, stdout, stderr, took })
    }

    /// Waits for its end and wants it to succeed.
    pub fn success(self, limit: Duration) -> Result<Output> {
        let what = self.what.clone();
        self.output(limit)?.succeeded(&what)
    }
}
