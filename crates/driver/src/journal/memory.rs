//! Journals without a file: one in memory for tests and simulations, and one that keeps nothing.

use std::cell::RefCell;
use std::rc::Rc;

use super::entry::Entry;
use super::interface::{Journal, JournalError};

/// A journal in memory. Clones share the entries.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Rc<RefCell<Vec<Entry>>>);

impl MemoryJournal {
    /// Takes out all entries so far.
    #[must_use]
    pub fn take(&self) -> Vec<Entry> {
        self.0.take()
    }
}

impl Journal for MemoryJournal {
    async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.0.borrow_mut().push(entry);
        Ok(())
    }
}

/// The journal for a file that could not be read. It is unknown which partitions are ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    async fn record(&self, _: Entry) -> Result<(), JournalError> {
        Ok(())
    }

    fn is_complete(&self) -> bool {
        false
    }
}
