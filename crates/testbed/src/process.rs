//! Processes as `/proc` shows them, their children, and signals that cannot hit the wrong one.

mod inspect;
mod lead;

pub use lead::{Lead, Leashed, Start};

use std::{collections::BTreeMap, fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process. A pid is used again, but a pid with its start time is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// The start time in clock ticks since boot.
    pub start: u64,
}

impl Process {
    pub fn look(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the command in parentheses and may contain any character.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let start = fields.nth(17)?.parse().ok()?;
        Some(Self { pid, parent, start })
    }

    pub fn exists(&self) -> bool {
        Self::look(self.pid).is_some_and(|now| now.start == self.start)
    }

    /// The oldest child, if there is one.
    pub fn child(&self) -> Option<Self> {
        oldest_child(self.pid)
    }

    /// Sends `signal` to this process. Does nothing when the process is gone.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
        // The pidfd is opened before the check, so that the signal goes to the process that was checked.
        let sent = pidfd_open(pid, PidfdFlags::empty()).and_then(|fd| match self.exists() {
            true => pidfd_send_signal(fd, signal),
            false => Ok(()),
        });
        match sent {
            Err(error) if error != rustix::io::Errno::SRCH => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn oldest_child(pid: u32) -> Option<Process> {
    all().filter(|process| process.parent == pid).min_by_key(|process| process.start)
}

pub fn descendants(pid: u32) -> Vec<Process> {
    let mut by_parent: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for process in all() {
        by_parent.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let born = by_parent.remove(&parent).unwrap_or_default();
        parents.extend(born.iter().map(|process| process.pid));
        found.extend(born);
    }
    found
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::look(entry.file_name().to_str()?.parse().ok()?))
}
