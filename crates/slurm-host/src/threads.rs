//! Threads inside slurmctld.
//!
//! From 23.11 on a slurmctld in the foreground replaces itself in place when it is reconfigured. It closes
//! all files, ours too, and then executes its new self while our threads still run. Errors that a thread
//! meets in between are no fault: the thread only has to stay still until it is gone.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::thread;

use vipu_types::{Words, words};

/// Starts a thread that receives no signal, because slurmctld's signals are for its own signal thread.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Words> {
    let failed = |error: std::io::Error| words!("cannot start thread {name}: {error}");
    let thread = thread::Builder::new().name(name.to_owned());
    // A new thread inherits the mask, so no signal can slip in before the thread blocks signals itself.
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

/// A file that only slurmctld closes, when it replaces itself, and the file's inode number, which no other
/// file has.
static SENTINEL: OnceLock<(File, u64)> = OnceLock::new();

/// Begins to watch whether slurmctld replaces itself; once per process.
///
/// # Errors
/// When the system gives no file.
pub fn watch_for_replacement() -> std::io::Result<()> {
    let file = File::from(OwnedFd::from(std::io::pipe()?.0));
    let number = file.metadata()?.ino();
    SENTINEL.get_or_init(|| (file, number));
    Ok(())
}

/// Whether slurmctld has closed our files, to replace itself.
pub fn is_slurmctld_being_replaced() -> bool {
    let is_ours = |(file, number): &(File, u64)| file.metadata().is_ok_and(|found| found.ino() == *number);
    SENTINEL.get().is_some_and(|sentinel| !is_ours(sentinel))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_closed_file_is_noticed_even_if_its_descriptor_is_used_again() {
        assert!(!is_slurmctld_being_replaced(), "not watched yet");
        watch_for_replacement().unwrap();
        assert!(!is_slurmctld_being_replaced());
        let fd = SENTINEL.get().unwrap().0.as_raw_fd();
        let other = File::open("/proc/self/stat").unwrap();
        // SAFETY: no lock needed; the sentinel is used only for its number, and is never dropped.
        unsafe { libc::dup2(other.as_raw_fd(), fd) };
        assert!(is_slurmctld_being_replaced());
        // SAFETY: no lock needed; the sentinel is used only for its number, and is never dropped.
        unsafe { libc::close(fd) };
        assert!(is_slurmctld_being_replaced());
    }
}
