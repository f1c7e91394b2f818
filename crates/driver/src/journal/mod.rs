//! What the driver is about to do and has done, kept over a crash.
//!
//! An intent is on record before the call it announces, so that a later slurmctld can tell
//! the partitions this cluster may have made from those of others.

mod book;
mod entry;
mod file_journal;
mod format;
mod interface;
mod owner;
mod paths;
mod stored_entry;
mod writer;

use vipu_types::{ControllerName, ModelName};

pub use entry::{Entry, LiveRecord, Stage};
pub use file_journal::FileJournal;
pub use interface::{Journal, JournalError, NoJournal};
pub use owner::Ownership;

/// What the text of a journal amounts to, and the shortest text that amounts to the same.
///
/// # Errors
/// When a newer version wrote it; says which.
pub fn compacted(
    text: &[u8],
    first: impl Fn(&ModelName) -> Option<ControllerName>,
) -> Result<(Vec<LiveRecord>, Vec<u8>), String> {
    let book = format::parse(text, &first)?.book;
    let shortest = format::whole(&book).map_err(|error| error.to_string())?;
    Ok((book.live().cloned().collect(), shortest))
}

/// The partitions that may exist once these entries were recorded, by name: what one reads who opens a
/// journal of them.
pub fn replay(entries: impl IntoIterator<Item = Entry>) -> Vec<LiveRecord> {
    let mut book = book::Book::default();
    entries.into_iter().for_each(|entry| book.apply(entry));
    book.live().cloned().collect()
}
