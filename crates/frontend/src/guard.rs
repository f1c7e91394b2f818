//! A panic for one job ends nothing but what was done for that job.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

/// Runs `body`; a panic in it becomes an error line and `otherwise`.
///
/// `what` says what is done, and for which job; its first word names a failpoint.
pub(crate) fn guard<R>(what: &dyn Fn() -> String, otherwise: R, body: impl FnOnce() -> R) -> R {
    // A panic may leave our own state half-changed: it is behind mutexes, and the ledger is distrusted from then on.
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
