//! Starting programs that cannot outlive their cluster.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};

use super::{Process, oldest_child};
use crate::{Account, programs};

/// The holder's end of the leash. When it is dropped, or its holder dies in any way, all programs that were
/// started on it are killed.
#[derive(Debug)]
pub struct Lead {
    reader: PipeReader,
    writer: PipeWriter,
    leash: PathBuf,
}

impl Lead {
    pub fn new() -> Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader, writer, leash: programs::find("testbed-leash")? })
    }

    pub fn start(&self, start: &Start<'_>, output: &Path, errors: &Path) -> Result<Leashed> {
        let Start { program, args, account, hostname, disk, environment, directory } = start;
        let file =
            |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        let mut command = Command::new(&self.leash);
        command.args(hostname.iter().flat_map(|name| ["--hostname", name]));
        command.args(disk.iter().flat_map(|folder| [Path::new("--disk"), folder]));
        command.arg(account.uid.to_string()).arg(account.gid.to_string()).arg(program).args(*args);
        command.env_clear().envs(environment.iter().map(|(key, value)| (key, value)));
        command.current_dir(directory).stdin(Stdio::from(OwnedFd::from(self.reader.try_clone()?)));
        command.stdout(file(output)?).stderr(file(errors)?);
        let leash = command.spawn().with_context(|| format!("cannot run {}", self.leash.display()))?;
        Ok(Leashed { leash })
    }

    /// Gives the lead to a new process that only holds it, and returns the pid: killing that process ends all
    /// programs.
    pub fn hand_over(self) -> Result<u32> {
        let mut holder = Command::new("setsid");
        holder.args(["sleep", "infinity"]).stdin(Stdio::null()).stderr(Stdio::null());
        let holder = holder.stdout(Stdio::from(OwnedFd::from(self.writer))).spawn()?;
        Ok(holder.id())
    }
}

#[derive(Debug)]
pub struct Start<'a> {
    pub program: &'a Path,
    pub args: &'a [String],
    pub account: &'a Account,
    /// The host name that the program sees. `None` for the name of the machine.
    pub hostname: Option<&'a str>,
    /// A folder that is a small disk as long as the program runs. Not together with a host name.
    pub disk: Option<&'a Path>,
    /// The whole environment.
    pub environment: &'a [(String, String)],
    pub directory: &'a Path,
}

#[derive(Debug)]
pub struct Leashed {
    leash: Child,
}

impl Leashed {
    /// The process of the program, not of its leash. `None` when the program has ended.
    pub fn process(&mut self) -> io::Result<Option<Process>> {
        loop {
            if let Some(program) = oldest_child(self.leash.id()) {
                return Ok(Some(program));
            }
            if self.ended()?.is_some() {
                return Ok(None);
            }
            // The leash has not started the program yet, or is about to end after it.
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The exit status. `None` while the program runs.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.leash.try_wait()
    }

    /// Waits for the exit status. `None` when the program still runs after `limit`.
    pub fn ended_within(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        if let Some(status) = self.ended()? {
            return Ok(Some(status));
        }
        let pid = i32::try_from(self.leash.id()).ok().and_then(Pid::from_raw);
        let leash = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
        // A pidfd becomes readable when its process ends.
        let mut awaited: Vec<_> = leash.iter().map(|leash| PollFd::new(leash, PollFlags::IN)).collect();
        poll(&mut awaited, Timespec::try_from(limit).ok().as_ref())?;
        self.ended()
    }

    /// Sends `signal` to the program alone.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.process()?.map_or(Ok(()), |process| process.signal(signal))
    }

    /// Lets the program run on when this value is dropped. From then on only its lead ends it.
    pub fn let_run(self) {
        // A `Child` without a wait does no harm: the system reaps it after this process has ended.
        std::mem::forget(self);
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        let patience = Instant::now() + Duration::from_secs(5);
        // The leash kills everything that the program leaves behind, and ends after it.
        while matches!(self.leash.try_wait(), Ok(None)) && Instant::now() < patience {
            let _ = self.signal(Signal::KILL);
            thread::sleep(Duration::from_millis(2));
        }
    }
}
