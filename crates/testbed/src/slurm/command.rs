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

/// A command that is not started yet.
#[derive(Debug)]
#[must_use]
pub struct ClusterCommand<'a> {
    host: &'a dyn RunsCommands,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) account: Account,
    pub(crate) environment: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code, or 128 plus the number of a signal.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The run time of the command.
    pub took: Duration,
}

impl Output {
    /// Fails if the command, named by `what`, has failed.
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

    /// Adds arguments.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// Sets the account that runs the command.
    pub fn account(mut self, account: &Account) -> Self {
        self.account = account.clone();
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Starts the command.
    pub fn start(self) -> Result<Running> {
        self.host.start(&self)
    }

    /// Runs the command to its end.
    pub fn output(self) -> Result<Output> {
        self.start()?.output(COMMAND_LIMIT)
    }

    /// Runs the command to its end, and fails if the command does.
    ///
    /// # Errors
    /// When the command fails. The message has its output.
    pub fn success(self) -> Result<Output> {
        self.start()?.success(COMMAND_LIMIT)
    }
}

impl Running {
    /// Starts a program on this lead. Its output goes to files in `folder`.
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

    /// The command's standard output up to now.
    pub fn stdout(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stdout)?)
    }

    /// The command's standard error up to now.
    pub fn stderr(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.stderr)?)
    }

    /// Sends a signal to the command.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        Ok(self.process.signal(signal)?)
    }

    /// The command's process. `None` when the command has ended.
    pub fn process(&mut self) -> Result<Option<Process>> {
        Ok(self.process.process()?)
    }

    /// Whether the command still runs.
    pub fn runs(&mut self) -> Result<bool> {
        Ok(self.process.ended()?.is_none())
    }

    /// Waits for the end of the command.
    ///
    /// # Errors
    /// When the command has not ended after `limit`. The message has its output.
    pub fn output(mut self, limit: Duration) -> Result<Output> {
        let what = format!("the end of `{}`", self.what);
        let ended = wait_for(&what, limit, || Ok(self.process.ended_within(AT_ONCE)?));
        let took = self.started.elapsed();
        let (stdout, stderr) = (self.stdout()?, self.stderr()?);
        let status = ended.with_context(|| format!("it said: {stdout}{stderr}"))?;
        let Some(code) = status.code() else { bail!("the leash of `{}` was killed", self.what) };
        Ok(Output { code, stdout, stderr, took })
    }

    /// Waits for the end of the command, and fails if the command does.
    pub fn success(self, limit: Duration) -> Result<Output> {
        let what = self.what.clone();
        self.output(limit)?.succeeded(&what)
    }
}
