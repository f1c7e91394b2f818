//! Journals that are no files: one for tests and simulations, and none at all.

use std::cell::RefCell;
use std::rc::Rc;

use super::entry::Entry;
use super::interface::{Journal, JournalError};

/// Keeps entries in memory; clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Rc<RefCell<Vec<Entry>>>);

impl MemoryJournal {
    /// Takes out the entries so far.
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

/// No journal: the file could not be read, so nobody knows what is ours.
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
