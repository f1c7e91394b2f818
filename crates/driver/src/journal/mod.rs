//! A record of the driver's intents and results, kept over a crash.
//!
//! An intent is on record before its call is sent. A later slurmctld can then tell the partitions that this
//! cluster may have made from those of others.

mod entry;
mod file_journal;
mod format;
mod interface;
mod owner;
mod replay;
mod stored_entry;
mod writer;

use ledger::EndedRun;
use vipu_types::{ControllerName, ModelName, Words};

pub use entry::{Entry, LiveRecord, Stage};
pub use file_journal::FileJournal;
pub use interface::{Journal, JournalError, NoJournal};
pub use owner::Ownership;

/// The live partitions of a journal's text, and the shortest text with the same meaning.
///
/// # Errors
/// If a newer version wrote the text. The error names the version.
pub fn compacted(
    text: &[u8],
    first: impl Fn(&ModelName) -> Option<ControllerName>,
) -> Result<(Vec<LiveRecord>, Vec<u8>), Words> {
    let book = format::parse(text, &first)?.book;
    let shortest = format::whole(&book).map_err(Words::of)?;
    Ok((book.live().cloned().collect(), shortest))
}

/// The damage of a journal's lines. slurmctld passes over them.
///
/// # Errors
/// If a newer version wrote the text. The error names the version.
pub fn damage(text: &[u8]) -> Result<Vec<Words>, Words> {
    Ok(format::parse(text, &|_| None)?.damage)
}

/// The partitions that may exist after these entries, by name, and the runs that have ended of late, as they are read
/// from a journal of these entries.
pub fn replay(entries: impl IntoIterator<Item = Entry>) -> (Vec<LiveRecord>, Vec<EndedRun>) {
    let mut book = replay::Book::default();
    entries.into_iter().for_each(|entry| book.apply(entry));
    (book.live().cloned().collect(), book.ended().copied().collect())
}
