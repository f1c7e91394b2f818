//! The file with the document, which slurmctld replaces.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use vipu_status::Status;
use vipu_status_reader::Source;

use crate::document;
use crate::error::Failure;

/// The facts about a file that differ between two documents: inode, length and time of the last change.
type Version = (u64, u64, i64, i64);

/// The file with the document.
pub(super) struct DocumentFile {
    source: Source,
    /// The reader.
    user: u32,
    /// The version that was read last. None if there was no file.
    read: Option<Version>,
}

impl DocumentFile {
    pub(super) fn new(source: Source, user: u32) -> Self {
        Self { source, user, read: None }
    }

    /// Reads the document.
    pub(super) fn read(&mut self) -> Result<Status, Failure> {
        // A file that is replaced after this line is read once more.
        self.read = self.version();
        document::read(&self.source, self.user)
    }

    /// Whether the file is another one than at the last read. A document on another host may always be.
    pub(super) fn has_changed(&self) -> bool {
        matches!(self.source, Source::Exporter(_)) || self.version() != self.read
    }

    /// The time of the last change of the inode also tells of new permissions, unlike that of the content.
    fn version(&self) -> Option<Version> {
        let Source::File(path) = &self.source else { return None };
        let facts = fs::metadata(path).ok()?;
        Some((facts.ino(), facts.len(), facts.ctime(), facts.ctime_nsec()))
    }
}
