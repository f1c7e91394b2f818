//! Threads inside slurmctld.

use std::mem::MaybeUninit;
use std::thread;

/// Starts a thread that receives no signal: slurmctld's are for its own signal thread.
///
/// # Errors
/// When the system gives no thread; one line.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot start thread {name}: {error}");
    let thread = thread::Builder::new().name(name.to_owned());
    // A new thread inherits the mask, so that no signal can slip in before it blocks them itself.
    let before = block_all();
    let started = thread.spawn(body).map(drop).map_err(failed);
    restore(&before);
    started
}

fn block_all() -> libc::sigset_t {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all`, pthread_sigmask `before`; only the calling thread's mask changes.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn restore(before: &libc::sigset_t) {
    // SAFETY: a mask that pthread_sigmask returned, for the calling thread.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}
