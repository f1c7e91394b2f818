//! The vipu-audit thread: writes the audit log, or sends it to syslog. No thread waits for this one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use ledger::ClaimView;
use slurm_host::{boundary, local_time, threads};
use tracing::{info, warn};
use vipu_status::{AUDIT_LOG, AuditLine, OLD_AUDIT_LOGS, file_names};
use vipu_types::{PartitionId, PodId, Words};

/// The size in bytes from which a new log is begun.
const LARGE: u64 = 16 << 20;

/// The socket of the syslog daemon.
const SYSLOG: &str = "/dev/log";

/// The priority of a line in syslog: facility authpriv (10), severity informational (6).
const PRIORITY: u8 = 10 * 8 + 6;

/// The most lines that wait for the disk. Further ones are lost.
const MOST_WAITING: usize = 10_000;

/// A change on a controller, or of the job of a partition.
pub(crate) struct Change {
    pub(crate) what: &'static str,
    pub(crate) pod: PodId,
    pub(crate) partition: PartitionId,
    /// The job that had the partition before.
    pub(crate) before: Option<u32>,
    pub(crate) seconds: f64,
    pub(crate) outcome: &'static str,
}

/// Finds the claim of a partition.
pub(crate) type ClaimOf = dyn Fn(&PodId, &PartitionId) -> Option<ClaimView> + Send + Sync;

/// The queue to the thread. To push never waits.
#[derive(Clone)]
pub(crate) struct Audit {
    claim_of: Arc<ClaimOf>,
    lines: SyncSender<AuditLine>,
    /// Whether the queue was full at the last push.
    is_full: Arc<AtomicBool>,
}

/// The end of the queue for the thread.
pub(crate) struct AuditLines(Receiver<AuditLine>);

pub(crate) fn channel() -> (SyncSender<AuditLine>, AuditLines) {
    let (sender, lines) = sync_channel(MOST_WAITING);
    (sender, AuditLines(lines))
}

impl Audit {
    pub(crate) fn new(lines: SyncSender<AuditLine>, claim_of: Arc<ClaimOf>) -> Self {
        Self { claim_of, lines, is_full: Arc::default() }
    }

    /// Takes a change on a controller. Its job is looked up now: the ledger forgets the job of a partition that is
    /// gone.
    pub(crate) fn change(&self, change: Change) {
        let claim = (self.claim_of)(&change.pod, &change.partition);
        self.push(line(change, claim.as_ref()));
    }

    /// Takes a request of an administrator, which has ended now.
    pub(crate) fn request(&self, line: AuditLine) {
        self.push(AuditLine { at: local_time::now(), ..line });
    }

    fn push(&self, line: AuditLine) {
        let is_full = matches!(self.lines.try_send(line), Err(TrySendError::Full(_)));
        if is_full && !self.is_full.swap(true, Ordering::Relaxed) {
            warn!(
                "the audit log lacks lines from now on: {MOST_WAITING} lines wait for the disk of StateSaveLocation"
            );
        } else if !is_full {
            self.is_full.store(false, Ordering::Relaxed);
        }
    }
}

/// Starts the thread. The log goes to `dir`, which is StateSaveLocation, or to syslog if `to_syslog` says so.
pub(crate) fn start(
    lines: AuditLines,
    to_syslog: impl Fn() -> bool + Send + 'static,
    dir: &Path,
) -> Result<(), Words> {
    let mut log = Log::new(dir, Path::new(SYSLOG));
    threads::spawn("vipu-audit", move || {
        for line in lines.0 {
            boundary::guard(&|| "vipu-audit".into(), (), || log.write(&line, to_syslog()));
        }
    })
}

/// The line of a change, with the job that has the partition.
fn line(change: Change, claim: Option<&ClaimView>) -> AuditLine {
    let Change { what, pod, partition, before, seconds, outcome } = change;
    AuditLine {
        at: local_time::now(),
        what: what.to_owned(),
        why: Some(claim.map_or("no job", |it| frontend::state_name(&it.phase)).to_owned()),
        model: Some(pod.model.to_string()),
        controller: Some(pod.controller.to_string()),
        partition: Some(partition.to_string()),
        job: claim.map(|it| it.claim.run.job),
        before,
        user: claim.map(|it| it.claim.user),
        ipus: claim.map(|it| it.claim.size.get()),
        seconds,
        outcome: outcome.to_owned(),
        ..AuditLine::default()
    }
}

struct Log {
    path: PathBuf,
    socket: PathBuf,
    /// Whether the last line could not be written.
    is_failing: bool,
}

impl Log {
    fn new(dir: &Path, socket: &Path) -> Self {
        Self { path: dir.join(AUDIT_LOG), socket: socket.to_owned(), is_failing: false }
    }

    fn write(&mut self, line: &AuditLine, to_syslog: bool) {
        let (target, written) = match to_syslog {
            true => (&self.socket, self.send(line)),
            false => (&self.path, self.append(line)),
        };
        match &written {
            Ok(()) if self.is_failing => info!("{}: the audit log is written again", target.display()),
            Err(why) if !self.is_failing => {
                warn!(
                    "cannot write {}: {why}; mend that: the audit log lacks lines until then",
                    target.display()
                );
            }
            _ => {}
        }
        self.is_failing = written.is_err();
    }

    /// Sends the line to the syslog daemon, which adds the time (RFC 3164, 4.3.3). A socket for each line needs no
    /// care when the daemon is restarted. slurmctld has its own use for the functions of the C library.
    fn send(&self, line: &AuditLine) -> io::Result<()> {
        failpoints::io!("the audit log in syslog");
        let mut text = format!("<{PRIORITY}>slurm-vipu[{}]: ", std::process::id()).into_bytes();
        serde_json::to_writer(&mut text, line)?;
        let socket = UnixDatagram::unbound()?;
        // A daemon that hangs costs the line.
        socket.set_nonblocking(true)?;
        socket.send_to(&text, &self.socket).map(drop)
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
        self.hand_over(&file)?;
        file.write_all(&text)
    }

    /// Gives the log the group of the status document, which vipu-status finds (StatusGroup). It stays as it is
    /// while there is no document, and where slurmctld may not change it.
    fn hand_over(&self, log: &File) -> io::Result<()> {
        let facts = log.metadata()?;
        if let Ok(document) = fs::metadata(self.path.with_file_name(file_names::WHOLE))
            && document.gid() != facts.gid()
        {
            let _ = fchown(log, None, Some(document.gid()));
        }
        Ok(())
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
        let log = Log::new(dir.path(), Path::new("/nonexistent"));
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

    #[test]
    fn cli_audit_log_goes_to_syslog() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = Log::new(dir.path(), &path);
        let line = AuditLine { at: 7, why: Some("two\nlines".into()), ..AuditLine::default() };
        log.write(&line, true);
        assert!(log.is_failing, "nobody listens");
        let daemon = UnixDatagram::bind(&path).unwrap();
        daemon.set_nonblocking(true).unwrap();
        log.write(&line, true);
        assert!(!log.is_failing);
        let mut text = [0; 1024];
        let length = daemon.recv(&mut text).unwrap();
        let text = std::str::from_utf8(&text[..length]).unwrap();
        let line = format!(
            r#"<86>slurm-vipu[{}]: {{"at":7,"what":"","why":"two\nlines","seconds":0.0,"outcome":""}}"#,
            std::process::id()
        );
        assert_eq!(text, line);
        assert!(!log.path.exists());
        // The queue of a daemon that reads nothing gets full.
        while !log.is_failing {
            log.write(&AuditLine::default(), true);
        }
    }

    #[test]
    fn cli_audit_log_has_the_group_of_the_document() {
        let dir = tempfile::tempdir().unwrap();
        let document = dir.path().join(file_names::WHOLE);
        fs::write(&document, "").unwrap();
        let mut log = Log::new(dir.path(), Path::new("/nonexistent"));
        let group = || fs::metadata(dir.path().join(AUDIT_LOG)).unwrap().gid();
        log.write(&AuditLine::default(), false);
        assert_eq!(group(), fs::metadata(&document).unwrap().gid());
        // Only root may give a file to any group.
        if std::os::unix::fs::chown(&document, None, Some(4242)).is_ok() {
            log.write(&AuditLine::default(), false);
            assert_eq!(group(), 4242);
            log.rotate().unwrap();
            log.write(&AuditLine::default(), false);
            assert_eq!(group(), 4242);
        }
        assert_eq!(fs::metadata(&log.path).unwrap().mode() & 0o777, 0o640);
    }
}
