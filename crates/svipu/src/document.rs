//! Reads the status document.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;
use vipu_status::{OwnJobs, Status, file_names};

use crate::error::Failure;
use crate::times::span;

/// The greatest size of a document. The document of 10,000 partitions is a tenth of it.
const MOST_BYTES: u64 = 64 << 20;

/// The age in seconds from which slurmctld may be down.
const OLD: i64 = 30;

/// Reads a document. If it hides owners, the jobs of this user are filled in from the file beside it.
pub(crate) fn read(path: &Path, user: u32) -> Result<Status, Failure> {
    let unreadable = |why: String| Failure::Unreadable(path.to_owned(), why);
    let text = text(path).map_err(unreadable)?;
    let mut status = Status::parse(&text).map_err(|why| unreadable(why.to_string()))?;
    if let Some(own) = own_jobs(path, &status.writer.cluster, user) {
        status.fill_in(own);
    }
    Ok(status)
}

/// The user's own jobs, if there is a file with them. A file that is being replaced is read the next time.
fn own_jobs(document: &Path, cluster: &str, user: u32) -> Option<OwnJobs> {
    let file = document.with_file_name(file_names::own_jobs(cluster, user));
    serde_json::from_slice(&text(&file).ok()?).ok()
}

fn text(path: &Path) -> Result<Vec<u8>, String> {
    let words = |why: std::io::Error| match why.kind() {
        ErrorKind::PermissionDenied => {
            format!("cannot read it: {why}; in StateSaveLocation only SlurmUser, its group and root may")
        }
        _ => format!("cannot read it: {why}"),
    };
    // The open of a FIFO would wait for a writer.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(words)?;
    let facts = file.metadata().map_err(words)?;
    if !facts.is_file() {
        return Err("it is no regular file, so that it is no status document".to_owned());
    }
    let mut text = Vec::new();
    // The file may grow meanwhile, so that its size alone is no limit.
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(words)?;
    if text.len() as u64 > MOST_BYTES {
        return Err("it is larger than 64 MiB, so that it is no status document".to_owned());
    }
    Ok(text)
}

/// The age in words. It is on each page.
pub(crate) fn age(status: &Status, now: i64) -> String {
    format!("as of {} ago", span(now.saturating_sub(status.written)))
}

/// The warning about an age that should not be.
pub(crate) fn warning(status: &Status, now: i64) -> Option<String> {
    let age = now.saturating_sub(status.written);
    if age > OLD {
        return Some(format!("the status is {} old: slurmctld may be down", span(age)));
    }
    let ahead = span(age.saturating_neg());
    (age < -OLD).then(|| format!("the status was written {ahead} in the future: compare the clocks"))
}
