//! What the driver is about to do and has done, kept over a crash.
//!
//! An intent is on record before the call it announces, so that a later slurmctld can tell
//! the partitions this cluster may have made from those of others.

mod book;
mod entry;
mod file;
mod format;
mod line;
mod memory;
mod owner;
mod writer;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub use entry::{Entry, LiveRecord, Stage};
pub use file::FileJournal;
pub use memory::MemoryJournal;
pub use owner::Ownership;

/// Where entries are kept.
pub trait Journal: 'static {
    /// Records an entry; it is durable when this returns. Entries are kept in the order of the
    /// calls, also of those whose future is dropped once it was polled.
    fn record(&self, entry: Entry) -> impl Future<Output = Result<(), JournalError>>;

    /// Waits until another slurmctld has taken the journal over: [`JournalError::is_final`].
    fn superseded(&self) -> impl Future<Output = JournalError> {
        std::future::pending()
    }
}

/// Why the journal could not be read or written, naming the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("journal {path}: cannot {doing}: {cause}")]
pub struct JournalError {
    path: String,
    doing: &'static str,
    cause: String,
    is_final: bool,
}

impl JournalError {
    /// `doing` the file at `path` failed because of `cause`.
    pub fn new(path: &Path, doing: &'static str, cause: &dyn Display) -> Self {
        Self { path: path.display().to_string(), doing, cause: cause.to_string(), is_final: false }
    }

    /// Another slurmctld has taken over: whoever hears of this is not in charge any more, and must do nothing.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

/// A new, empty file in the place of any other, for its owner only.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// The path of a file beside `path`, with one more suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(suffix);
    name.into()
}
