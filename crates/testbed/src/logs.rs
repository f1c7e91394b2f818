//! The daemons' logs, and what becomes of them when a test fails.

use std::{collections::BTreeSet, fs, path::PathBuf, thread};

use crate::Layout;

/// How much of each log a failed test shows.
const TAIL_LINES: usize = 60;

/// The logs of one cluster.
#[derive(Clone, Debug)]
pub struct Logs {
    dir: PathBuf,
}

impl Logs {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { dir: layout.logs() }
    }

    /// The whole log of a daemon, such as `slurmctld`, `mock-vipu-server` or a node's name: the file it
    /// keeps, else what it printed.
    #[must_use]
    pub fn read(&self, daemon: &str) -> String {
        let read = |end: &str| fs::read(self.dir.join(format!("{daemon}.{end}")));
        let bytes = read("log").or_else(|_| read("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The ends of all logs.
    #[must_use]
    pub fn tails(&self) -> String {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let stem = |file: fs::DirEntry| Some(file.path().file_stem()?.to_string_lossy().into_owned());
        let daemons: BTreeSet<_> = files.filter_map(stem).collect();
        let mut text = String::new();
        for daemon in daemons {
            let log = self.read(&daemon);
            let lines: Vec<_> = log.lines().collect();
            let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
            text += &format!("--- the end of {daemon}'s log\n{}\n", tail.join("\n"));
        }
        text
    }
}

/// Makes sure that somebody judges a cluster before it goes.
#[derive(Debug)]
pub(crate) struct Verdict {
    logs: Logs,
    given: bool,
}

impl Verdict {
    pub(crate) fn pending(logs: Logs) -> Self {
        Self { logs, given: false }
    }

    pub(crate) fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(crate) fn passed(mut self) {
        self.given = true;
    }

    pub(crate) fn failed(mut self) {
        eprintln!("{}", self.logs.tails());
        self.given = true;
    }
}

impl Drop for Verdict {
    fn drop(&mut self) {
        if self.given {
            return;
        }
        eprintln!("{}", self.logs.tails());
        assert!(thread::panicking(), "a cluster was dropped without finish(): nothing was checked");
    }
}
