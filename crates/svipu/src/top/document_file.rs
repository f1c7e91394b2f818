//! The file with the document, which slurmctld replaces.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use vipu_status::Status;

use crate::document;
use crate::error::Failure;

/// The facts about a file that differ between two documents: inode, length and time of the last change.
type Version = (u64, u64, i64, i64);

/// The file with the document.
pub(super) struct DocumentFile {
    path: PathBuf,
    /// The reader.
    user: u32,
    /// The version that was read last. None if there was no file.
    read: Option<Version>,
}

impl DocumentFile {
    pub(super) fn new(path: PathBuf, user: u32) -> Self {
        Self { path, user, read: None }
    }

    /// Reads the document.
    pub(super) fn read(&mut self) -> Result<Status, Failure> {
        // A file that is replaced after this line is read once more.
        self.read = self.version();
        document::read(&self.path, self.user)
    }

    /// Whether the file is another one than at the last read.
    pub(super) fn has_changed(&self) -> bool {
        self.version() != self.read
    }

    /// The time of the last change of the inode also tells of new permissions, unlike that of the content.
    fn version(&self) -> Option<Version> {
        let facts = fs::metadata(&self.path).ok()?;
        Some((facts.ino(), facts.len(), facts.ctime(), facts.ctime_nsec()))
    }
}
