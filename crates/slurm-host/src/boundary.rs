//! Keeps panics and our errno from crossing into C.

use std::any::Any;
use std::ffi::c_int;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use failpoints::NoIo;

use crate::{log, threads};

/// Runs the body of an exported function. A panic in the body becomes an error line and `otherwise`.
///
/// `what` names the call, and the job if there is one. Its first word names a failpoint.
pub fn guard<R>(what: &dyn Fn() -> String, otherwise: R, body: impl FnOnce() -> R) -> R {
    guard_else(what, || otherwise, body)
}

/// Runs `body` as [`guard`] does, and `otherwise` after a panic. `otherwise` must not panic: a part of it
/// that may panic goes into a guard of its own.
pub fn guard_else<R>(
    what: &dyn Fn() -> String,
    otherwise: impl FnOnce() -> R,
    body: impl FnOnce() -> R,
) -> R {
    let _errno = Errno::keep();
    // A panic may leave our own state half-changed. Our state is behind mutexes that then report poison, and
    // Slurm's records are only changed by single stores.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        failpoints::stop_at!(what().split(' ').next().unwrap_or_default());
        body()
    }));
    caught.unwrap_or_else(|payload| {
        log::error(&format!("select/vipu: {}: internal error, please report: {}", what(), words(&*payload)));
        otherwise()
    })
}

/// The thread's errno, restored when the value is dropped. Slurm also reads errno where no call needs to have
/// set it (`_update_job` in job_mgr.c, 24.11, for a change of `Partition=`).
struct Errno(c_int);

impl Errno {
    fn keep() -> Self {
        Self(io::Error::last_os_error().raw_os_error().unwrap_or_default())
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: errno of this thread, which no other thread writes.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// Runs a callback of slurmctld as [`guard_else`] does. A callback runs under slurmctld's locks, so `body`
/// must not wait for a disk or the network.
pub fn callback<R>(what: &dyn Fn() -> String, otherwise: impl FnOnce() -> R, body: impl FnOnce() -> R) -> R {
    let _no_io = NoIo::new();
    guard_else(what, otherwise, body)
}

/// Sends the place of every panic of this object to Slurm's log instead of to stderr, which is lost.
///
/// A thread that panics because slurmctld took its files away stays in here. Unwinding would touch more of
/// them, and a second panic on the way ends the whole process.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        while threads::is_slurmctld_being_replaced() {
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

    #[test]
    fn errno_is_left_as_it_was() {
        let errno = || io::Error::last_os_error().raw_os_error();
        // SAFETY: errno of this thread.
        unsafe { *libc::__errno_location() = 4711 };
        for panics in [false, true] {
            guard(&|| "test".into(), (), || {
                assert!(std::fs::metadata("/nowhere").is_err() && errno() == Some(libc::ENOENT));
                assert!(!panics);
            });
            assert_eq!(errno(), Some(4711));
        }
    }
}
