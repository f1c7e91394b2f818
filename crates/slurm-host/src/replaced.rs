//! A slurmctld in the foreground that is reconfigured replaces itself in place, from 23.11 on.
//!
//! It closes all files, ours too, and then executes its new self while our threads still run. What a thread
//! meets in between is no fault: it only has to stay still until it is gone.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// A file that nobody but slurmctld, when it replaces itself, would close, and its number, which no other has.
static SENTINEL: OnceLock<(File, u64)> = OnceLock::new();

/// Begins to watch; once per process.
///
/// # Errors
/// When the system gives no file.
pub fn watch() -> std::io::Result<()> {
    let file = File::from(OwnedFd::from(std::io::pipe()?.0));
    let number = file.metadata()?.ino();
    SENTINEL.get_or_init(|| (file, number));
    Ok(())
}

/// Whether slurmctld has closed our files.
#[must_use]
pub fn is_under_way() -> bool {
    let is_ours = |(file, number): &(File, u64)| file.metadata().is_ok_and(|found| found.ino() == *number);
    SENTINEL.get().is_some_and(|sentinel| !is_ours(sentinel))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn closed_files_are_noticed_also_when_the_number_is_used_again() {
        assert!(!is_under_way(), "not watched yet");
        watch().unwrap();
        assert!(!is_under_way());
        let fd = SENTINEL.get().unwrap().0.as_raw_fd();
        let other = File::open("/proc/self/stat").unwrap();
        // SAFETY: no lock needed; the sentinel is used for nothing but its number, and is never dropped.
        unsafe { libc::dup2(other.as_raw_fd(), fd) };
        assert!(is_under_way());
        // SAFETY: as above.
        unsafe { libc::close(fd) };
        assert!(is_under_way());
    }
}
