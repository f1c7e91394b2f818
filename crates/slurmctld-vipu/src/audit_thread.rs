//! The vipu-audit thread: writes the audit log. No thread waits for this one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{SystemTime, UNIX_EPOCH};

use ledger::ClaimView;
use slurm_host::{boundary, threads};
use tracing::{info, warn};
use vipu_status::{AUDIT_LOG, AuditLine, OLD_AUDIT_LOGS};
use vipu_types::{PartitionId, PodId};

/// The size in bytes from which a new log is begun.
const LARGE: u64 = 16 << 20;

/// The most lines that wait for the disk. Further ones are lost.
const MOST_WAITING: usize = 10_000;

/// A change on a controller.
pub(crate) struct Change {
    pub(crate) what: &'static str,
    pub(crate) pod: PodId,
    pub(crate) partition: PartitionId,
    pub(crate) seconds: f64,
    pub(crate) outcome: &'static str,
}

enum Task {
    Change(Change),
    Line(AuditLine),
}

/// The queue to the thread. To push never waits.
#[derive(Clone)]
pub(crate) struct Audit {
    tasks: SyncSender<Task>,
    /// Whether the queue was full at the last push.
    is_full: Arc<AtomicBool>,
}

/// The end of the queue for the thread.
pub(crate) struct AuditTasks(Receiver<Task>);

pub(crate) fn channel() -> (Audit, AuditTasks) {
    let (audit, tasks) = sync_channel(MOST_WAITING);
    (Audit { tasks: audit, is_full: Arc::default() }, AuditTasks(tasks))
}

impl Audit {
    /// Takes a change on a controller. Its job is looked up later.
    pub(crate) fn change(&self, change: Change) {
        self.push(Task::Change(change));
    }

    /// Takes a request of an administrator, which has ended now.
    pub(crate) fn request(&self, line: AuditLine) {
        self.push(Task::Line(AuditLine { at: now(), ..line }));
    }

    fn push(&self, task: Task) {
        let is_full = matches!(self.tasks.try_send(task), Err(TrySendError::Full(_)));
        if is_full && !self.is_full.swap(true, Ordering::Relaxed) {
            warn!(
                "the audit log lacks lines from now on: {MOST_WAITING} lines wait for the disk of StateSaveLocation"
            );
        } else if !is_full {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }
}

/// Starts the thread. The log goes to `dir`, which is StateSaveLocation. `claim_of` finds the claim of a
/// partition. The error is one line.
pub(crate) fn start(
    tasks: AuditTasks,
    claim_of: impl Fn(&PodId, &PartitionId) -> Option<ClaimView> + Send + 'static,
    dir: &Path,
) -> Result<(), String> {
    let mut log = Log { path: dir.join(AUDIT_LOG), is_failing: false };
    threads::spawn("vipu-audit", move || {
        for task in tasks.0 {
            boundary::guard(&|| "vipu-audit".into(), (), || {
                log.write(&match task {
                    Task::Change(change) => {
                        let claim = claim_of(&change.pod, &change.partition);
                        line(change, claim.as_ref())
                    }
                    Task::Line(line) => line,
                });
            });
        }
    })
}

/// The line of a change, with the job that has the partition.
fn line(change: Change, claim: Option<&ClaimView>) -> AuditLine {
    let Change { what, pod, partition, seconds, outcome } = change;
    AuditLine {
        at: now(),
        what: what.to_owned(),
        by: None,
        why: Some(claim.map_or("no job", |it| frontend::state_name(&it.phase)).to_owned()),
        model: Some(pod.model.to_string()),
        controller: Some(pod.controller.to_string()),
        partition: Some(partition.to_string()),
        job: claim.map(|it| it.claim.run.job),
        user: claim.map(|it| it.claim.user),
        ipus: claim.map(|it| it.claim.size.get()),
        seconds,
        outcome: outcome.to_owned(),
    }
}

fn now() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)
}

struct Log {
    path: PathBuf,
    /// Whether the last line could not be written.
    is_failing: bool,
}

impl Log {
    fn write(&mut self, line: &AuditLine) {
        let written = self.append(line);
        match &written {
            Ok(()) if self.is_failing => info!("{}: the audit log is written again", self.path.display()),
            Err(why) if !self.is_failing => {
                warn!(
                    "cannot write {}: {why}; mend that: the log lacks lines until then",
                    self.path.display()
                );
            }
            _ => {}
        }
        self.is_failing = written.is_err();
    }

    /// Opens the log for each line, so that a site may rotate it by other means.
    fn append(&self, line: &AuditLine) -> io::Result<()> {
        failpoints::io!("the audit log");
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        if fs::metadata(&self.path).is_ok_and(|facts| facts.len() >= LARGE) {
            self.rotate()?;
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o640).open(&self.path)?;
        file.write_all(&text)
    }

    fn rotate(&self) -> io::Result<()> {
        let old = |number: u32| match number {
            0 => self.path.clone(),
            number => PathBuf::from(format!("{}.{number}", self.path.display())),
        };
        for number in (0..OLD_AUDIT_LOGS).rev() {
            match fs::rename(old(number), old(number + 1)) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_audit_log_keeps_the_newest_lines() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log { path: dir.path().join(AUDIT_LOG), is_failing: false };
        let written = |number: i64| log.append(&AuditLine { at: number, ..AuditLine::default() }).unwrap();
        for number in 0..i64::from(OLD_AUDIT_LOGS) + 3 {
            written(number);
            OpenOptions::new().write(true).open(&log.path).unwrap().set_len(LARGE).unwrap();
        }
        written(99);
        let first = |name: &Path| fs::read_to_string(name).unwrap()[..8].to_owned();
        assert_eq!(first(&log.path), "{\"at\":99");
        let oldest = PathBuf::from(format!("{}.{OLD_AUDIT_LOGS}", log.path.display()));
        assert_eq!(first(&oldest), "{\"at\":3,");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1 + OLD_AUDIT_LOGS as usize);
    }
}
