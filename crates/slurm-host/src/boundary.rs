//! No panic crosses into C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{log, replaced};

/// Runs the body of an exported function; a panic in it becomes an error line and `otherwise`.
///
/// `what` says which call, and for which job where there is one.
pub fn guard<R>(what: &dyn Fn() -> String, otherwise: R, body: impl FnOnce() -> R) -> R {
    // A panic may leave our own state half-changed; it is behind mutexes that then report poison,
    // and Slurm's records are only changed by single stores.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        log::error(&format!("select/vipu: {}: internal error, please report: {}", what(), words(&*payload)));
        otherwise
    })
}

/// Sends the place of every panic of this object to Slurm's log, where the default is a lost stderr.
///
/// A thread that panics because slurmctld took its files away stays in here: to unwind would touch more of
/// them, and a second panic on the way ends the whole process.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        while replaced::is_under_way() {
            std::thread::park();
        }
        log::error(&format!("select/vipu: {info}"));
    }));
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_fallback() {
        assert_eq!(guard(&|| "test".into(), 7, || panic!("as asked")), 7);
        assert_eq!(guard(&|| "test".into(), 7, || 3), 3);
    }
}
