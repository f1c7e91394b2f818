//! Reads the status document, and tells its age.

use vipu_status::Status;
use vipu_status_reader::{OLD, Source};

use crate::error::Failure;
use crate::times::span;

/// Reads a document, as this user may see it.
pub(crate) fn read(source: &Source, user: u32) -> Result<Status, Failure> {
    source.read_as(user).map_err(|why| Failure::NoDocument(source.clone(), why))
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
