//! The ledger behind its lock.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use failpoints::NoIo;
use ledger::{Event, Ledger};

use crate::clocks_and_queues::Outside;
use crate::internal_error::guard;
use crate::ledger_panic::About;
use crate::mutex::{Mutex, MutexGuard, lock};
use crate::status::status_writer::StatusWriter;

/// Takes events from slurmctld's callbacks and from both threads, and passes on the actions that follow.
#[derive(Default)]
pub(crate) struct SharedLedger {
    ledger: Mutex<Ledger>,
    distrusted: AtomicBool,
    status_writer: StatusWriter,
}

/// The locked ledger. slurmctld's callbacks wait while it is locked.
pub struct LockedLedger<'shared_ledger> {
    ledger: MutexGuard<'shared_ledger, Ledger>,
    /// [`Ledger::revision`] when it was locked.
    revision: (u64, u64),
    status_writer: &'shared_ledger StatusWriter,
    _no_io: NoIo,
}

impl Drop for LockedLedger<'_> {
    fn drop(&mut self) {
        if self.ledger.revision() != self.revision {
            self.status_writer.wake();
        }
    }
}

impl Deref for LockedLedger<'_> {
    type Target = Ledger;
    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl DerefMut for LockedLedger<'_> {
    fn deref_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

impl SharedLedger {
    /// An empty ledger. Wakes the thread that writes the status document when it changes.
    pub(crate) fn new(status_writer: StatusWriter) -> Self {
        Self { status_writer, ..Self::default() }
    }

    /// Locks the ledger for a question.
    pub(crate) fn ledger(&self) -> LockedLedger<'_> {
        let (ledger, status_writer) = (lock(&self.ledger), &self.status_writer);
        LockedLedger { revision: ledger.revision(), ledger, status_writer, _no_io: NoIo::new() }
    }

    /// Marks the ledger as possibly wrong from now on.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    /// Whether the ledger has failed once. Some answers that it waits for may not come.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// Tells the ledger an event and passes on the actions that follow. False if the ledger panicked.
    ///
    /// The queues are filled while the ledger is locked, so that actions leave in the order of the decisions.
    pub(crate) fn tell(&self, mut ledger: LockedLedger<'_>, outside: &dyn Outside, event: Event) -> bool {
        let about = About::of(&event);
        let decided = guard(&|| about.to_string(), None, || Some(ledger.apply(outside.now(), event)));
        if let Some(actions) = decided {
            outside.carry_out(actions);
            return true;
        }
        // The decision is lost, and the ledger may be half-changed. The mark is set before another thread can
        // act on the ledger.
        self.distrust();
        outside.carry_out(about.let_go(&ledger));
        false
    }
}

#[cfg(test)]
#[path = "shared_ledger_tests.rs"]
mod tests;
