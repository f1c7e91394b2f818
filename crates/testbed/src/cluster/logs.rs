//! The daemons' logs: reading them, and printing them when a test fails.

use std::{collections::BTreeSet, fs, path::PathBuf, thread};

use crate::Layout;

const TAIL_LINES: usize = 60;

/// Parts of lines that are faults in slurmctld's log unless the test expects them. A fault of ours often
/// shows as an error of Slurm.
const FAULTS: [&str; 3] = ["panic", "fatal", "error:"];

/// Parts of error lines that are usual for slurmctld on a test machine: on its first start, without mail or
/// PMIx, and under load. A command may have ended before slurmctld answers it ("missing socket"). An srun asks for its job
/// itself, and may have ended before slurmctld's answers arrive. 22.05 logs the numbers of these answers in place of their names. A slurmctld may be killed while its backup
/// asks for its state. slurmctld may end while its own
/// thread saves nodes or reservations: `dump_all_node_state` and `dump_all_resv_state` hold the two locks
/// that it then reports, nothing of ours does. The thread of a connection from slurmdbd may detach itself while
/// slurmctld, at its end, waits for it: `slurm_persist_conn_recv_server_fini` then cannot join it. "no IPU job of
/// model" is our line on a controller that a test takes away.
const HARMLESS: [&str; 17] = [
    "no IPU job of model ",
    "Could not open ",
    "state save file. ",
    "No fed_mgr state file",
    "MailProg",
    "mpi/pmix",
    "pmi/pmix",
    "High latency",
    "Unexpected missing socket",
    "(msg_type=SRUN_JOB_COMPLETE) failed",
    "msg_type=7004: ",
    "(msg_type=RESPONSE_RESOURCE_ALLOCATION) failed",
    "msg_type=4002: ",
    "(msg_type=REQUEST_CONTROL_STATUS) failed",
    "Locks left set config:R, job:, node:R, partition:, ",
    "Semaphores still set after ",
    "slurm_persist_conn_recv_server_fini: pthread_join(): Invalid argument",
];

/// slurmctld's line about the locks that backfill holds. slurmctld does not wait for it at its end and at a hand-back.
const LOCKS_OF_BACKFILL: &str = "Locks left set config:R, job:W, node:W, partition:R, federation:R";

/// The number of lines before it among which is the begin of backfill.
const BACKFILL: usize = 12;

/// Parts of lines that are faults in a node's log unless the test expects them. Slurm's own errors are no
/// faults there: tests break networks and kill slurmctld, and each release words its complaints differently.
const NODE_FAULTS: [&str; 4] = ["error: select/vipu", "error: gres/vipu", "error: spank_ipuof", "panicked"];

pub(crate) fn faults(log: &str, expected: &[String]) -> Vec<String> {
    let has = |line: &str, parts: &[&str]| parts.iter().any(|part| line.contains(part));
    let of_backfill = || {
        let lines: Vec<_> = log.lines().collect();
        let at = lines.iter().position(|line| line.contains(LOCKS_OF_BACKFILL)).unwrap_or_default();
        lines[at.saturating_sub(BACKFILL)..at]
            .iter()
            .any(|line| line.contains("_attempt_backfill: beginning"))
    };
    unexpected(log, expected, |line| {
        has(line, &FAULTS) && !has(line, &HARMLESS) && !(line.contains(LOCKS_OF_BACKFILL) && of_backfill())
    })
}

pub(crate) fn node_faults(node: &str, log: &str, expected: &[String]) -> Vec<String> {
    let lines = unexpected(log, expected, |line| NODE_FAULTS.iter().any(|fault| line.contains(fault)));
    lines.into_iter().map(|line| format!("{node}: {line}")).collect()
}

fn unexpected(log: &str, expected: &[String], is_fault: impl Fn(&str) -> bool) -> Vec<String> {
    let is_expected = |line: &str| expected.iter().any(|part| line.contains(part));
    log.lines().filter(|line| is_fault(line) && !is_expected(line)).map(str::to_owned).collect()
}

#[derive(Clone, Debug)]
pub struct Logs {
    dir: PathBuf,
}

impl Logs {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { dir: layout.logs() }
    }

    /// The whole log of a daemon, for example `slurmctld`, `mock-vipu-server` or a node's name. The daemon's
    /// log file, or if there is none, its standard error.
    pub fn read(&self, daemon: &str) -> String {
        let read = |end: &str| fs::read(self.dir.join(format!("{daemon}.{end}")));
        let bytes = read("log").or_else(|_| read("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

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

/// Fails the test of a cluster that is dropped without a verdict.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) logs: Logs,
    given: bool,
}

impl Verdict {
    pub(crate) fn pending(logs: Logs) -> Self {
        Self { logs, given: false }
    }

    pub(crate) fn passed(mut self) {
        self.given = true;
    }

    /// Prints the failure before the logs, because a shortened output loses its end.
    pub(crate) fn failed(mut self, why: &anyhow::Error) {
        eprintln!("failed: {why:#}\n{}", self.logs.tails());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_only_our_own_errors_as_faults() {
        let log = "[2026-11-20T16:00:00.123] [7.0] error: select/vipu: this Slurm is not laid out as its release\n\
                   [2026-11-20T16:00:00.124] [7.batch] error: spank_ipuof: no IPUs: partition slurm_7 on node n\n\
                   thread '<unnamed>' panicked at src/lib.rs:1:1:\n\
                   [2026-11-20T16:00:00.125] debug:  select/vipu: the layout is read from a file\n\
                   [2026-11-20T16:00:00.126] error: Unable to register: Unable to contact slurm controller\n";
        let found = node_faults("n1", log, &[]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("n1: [2026-11-20T16:00:00.123] [7.0] error: select/vipu"), "{found:?}");
        let expected = ["not laid out".to_owned(), "partition slurm_7 ".to_owned()];
        let found = node_faults("n1", log, &expected);
        assert!(found.len() == 1 && found[0].contains("panicked"), "{found:?}");
    }

    #[test]
    fn every_unusual_error_is_a_fault_of_slurmctld() {
        let log = "error: something broke\nerror: Could not open node state file\ninfo: fine\nfatal: gone\n";
        assert_eq!(faults(log, &[]), ["error: something broke", "fatal: gone"]);
        assert_eq!(faults(log, &["broke".into()]), ["fatal: gone"]);
        let srun_left = "error: slurm_msg_sendto: address:port=127.0.0.1:40036 msg_type=4002: Broken pipe\n\
                         error: slurm_send_node_msg: [[localhost]:40036] \
                         slurm_bufs_sendto(msg_type=RESPONSE_RESOURCE_ALLOCATION) failed: Broken pipe\n";
        assert_eq!(faults(srun_left, &[]), [""; 0]);
        let locks = format!("error: {LOCKS_OF_BACKFILL}\n");
        assert_eq!(faults(&locks, &[]).len(), 1);
        let beside_backfill = format!("debug:  sched/backfill: _attempt_backfill: beginning\n{locks}");
        assert_eq!(faults(&beside_backfill, &[]), [""; 0]);
    }
}
