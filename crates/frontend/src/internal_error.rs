//! A fault in slurm-vipu: a panic is confined to the work for one job, and users get a text.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

/// The beginning of each reason of slurm-vipu.
pub(crate) const OURS: &str = "vipu: ";

/// The text for users. They can do nothing about the fault; the log tells administrators more.
pub(crate) const INTERNAL: &str = "internal error, see slurmctld's log";

/// The reason of a job that waits or is refused because of the fault.
pub const TO_USER: &str = "vipu: internal error - see the log of slurmctld";

/// The text for a fault that only a restart of slurmctld ends.
pub(crate) fn until_restart() -> String {
    format!("{INTERNAL}; restart slurmctld")
}

/// Runs `body`. After a panic in it, logs an error line and returns `otherwise`.
///
/// `what` describes the work and its job. Its first word names a failpoint.
pub(crate) fn guard<R>(what: &dyn Fn() -> String, otherwise: R, body: impl FnOnce() -> R) -> R {
    // A panic may leave state half-changed. That state is behind mutexes, and a ledger that panicked is
    // distrusted.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        failpoints::stop_at!(what().split(' ').next().unwrap_or_default());
        body()
    }));
    caught.unwrap_or_else(|payload| {
        error!("{}: internal error, please report: {}", what(), words(&*payload));
        otherwise
    })
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
