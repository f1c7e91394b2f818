//! A journal for tests and simulations.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Entry, Journal, JournalError};

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
