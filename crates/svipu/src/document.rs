//! Reads the status document, and tells its age.

use vipu_status::Status;
use vipu_status_reader::{OLD, Source};

use crate::error::Failure;
use crate::times::span;

/// Reads a document.
pub(crate) fn read(source: &Source) -> Result<Status, Failure> {
    source.read().map_err(|why| Failure::NoDocument(source.clone(), why))
}

/// The age in words. It is on each page.
pub(crate) fn age(status: &Status, now: i64) -> String {
    format!("as of {} ago", span(now.saturating_sub(status.written)))
}

/// The lines for standard error about the age.
pub(crate) fn warnings(status: &Status, now: i64) -> String {
    let age = now.saturating_sub(status.written);
    if age > OLD {
        return format!("svipu: warning: the status is {} old: slurmctld may be down\n", span(age));
    }
    if age < -OLD {
        let ahead = span(age.saturating_neg());
        return format!("svipu: warning: the status was written {ahead} in the future: compare the clocks\n");
    }
    String::new()
}
