//! A step's own directory on its node, with the config files that were fetched for it (Delivery=node).
//!
//! The step's slurmstepd holds a lock on the directory as long as it lives. A directory without a lock is
//! therefore left by a slurmstepd that was killed. The next step with a directory on this node removes it,
//! and so does slurmd when it starts.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use nix::unistd::geteuid;

/// A directory, and the lock that protects it from removal.
#[derive(Debug)]
pub(crate) struct StepDir {
    path: PathBuf,
    _lock: File,
}

/// The mode of the directories: all users can pass through, and only the owner can list them. The files have
/// permissions of their own.
const MODE: u32 = 0o711;

impl StepDir {
    /// Makes the directory of this process, in `run_dir`, for a step of `job`.
    ///
    /// # Errors
    /// When the directory cannot be made, or another user owns `run_dir` or can write to it.
    pub(crate) fn make(run_dir: &Path, job: u32) -> io::Result<Self> {
        make(run_dir).or_else(is_there_already)?;
        // A new directory is unlocked for a moment, in which no other process may look for unlocked
        // directories.
        let alone = own(run_dir)?;
        alone.lock()?;
        remove_unlocked(run_dir)?;
        let path = run_dir.join(format!("{job}-{}", process::id()));
        make(&path)?;
        let lock = open(&path)?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with its files.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

/// Removes the directories of killed steps from `run_dir`, which need not exist.
pub(crate) fn sweep(run_dir: &Path) -> io::Result<()> {
    match own(run_dir) {
        Ok(alone) => alone.lock().and_then(|()| remove_unlocked(run_dir)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn remove_unlocked(run_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(run_dir)? {
        match remove_if_unlocked(&entry?.path()) {
            // A step has just removed its directory, or the entry is not the directory of a step.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            done => done?,
        }
    }
    Ok(())
}

fn remove_if_unlocked(directory: &Path) -> io::Result<()> {
    match open(directory)?.try_lock() {
        Ok(()) => fs::remove_dir_all(directory),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Makes a directory with [`MODE`], whatever slurmd's umask is.
fn make(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    fs::set_permissions(directory, Permissions::from_mode(MODE))
}

fn is_there_already(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

fn open(directory: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(directory)
}

/// Opens a directory that only this user can write to.
fn own(directory: &Path) -> io::Result<File> {
    let file = open(directory)?;
    let facts = file.metadata()?;
    if facts.uid() == geteuid().as_raw() && facts.mode() & 0o022 == 0 {
        Ok(file)
    } else {
        Err(io::Error::other("it is another user's, or others can write to it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_directory_stays_as_long_as_its_step() {
        let root = tempfile::tempdir().unwrap();
        let run_dir = root.path().join("slurm-vipu");
        sweep(&run_dir).unwrap();
        let own = StepDir::make(&run_dir, 42).unwrap();
        fs::write(own.path().join("slurm_42.conf"), "{}").unwrap();
        assert_eq!(fs::metadata(own.path()).unwrap().mode() & 0o7777, MODE);
        // A step of another job begins, and slurmd starts.
        let other = StepDir::make(&run_dir, 43).unwrap();
        sweep(&run_dir).unwrap();
        assert!(own.path().join("slurm_42.conf").exists());
        own.remove().unwrap();
        assert_eq!(names(&run_dir), [format!("43-{}", process::id())]);
        other.remove().unwrap();
    }

    #[test]
    fn the_directory_of_a_killed_step_is_removed() {
        let run_dir = tempfile::tempdir().unwrap();
        // Not the directory of a step.
        fs::write(run_dir.path().join("file"), "").unwrap();
        let leave = || {
            let StepDir { path, _lock } = StepDir::make(run_dir.path(), 42).unwrap();
            fs::write(path.join("slurm_42.conf"), "{}").unwrap();
        };
        leave();
        assert_eq!(names(run_dir.path()).len(), 2);
        sweep(run_dir.path()).unwrap();
        assert_eq!(names(run_dir.path()), ["file"]);
        leave();
        // The job's next step has the process id of the killed step.
        let again = StepDir::make(run_dir.path(), 42).unwrap();
        assert!(names(again.path()).is_empty());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_used() {
        let run_dir = tempfile::tempdir().unwrap();
        fs::set_permissions(run_dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = StepDir::make(run_dir.path(), 42).unwrap_err();
        assert!(refused.to_string().contains("others can write"), "{refused}");
        assert!(sweep(run_dir.path()).is_err());
        let real = tempfile::tempdir().unwrap();
        let link = real.path().join("link");
        std::os::unix::fs::symlink(run_dir.path(), &link).unwrap();
        assert!(StepDir::make(&link, 42).is_err());
    }
}
