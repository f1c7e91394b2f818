//! The ledger behind its lock.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use failpoints::NoIo;
use ledger::{Event, Ledger};

use crate::about::About;
use crate::guard::guard;
use crate::outside::Outside;
use crate::sync::{Mutex, MutexGuard, lock};

/// Events come in here, from slurmctld's callbacks and from both threads, and actions go out.
#[derive(Default)]
pub(crate) struct SharedLedger {
    ledger: Mutex<Ledger>,
    distrusted: AtomicBool,
}

/// The ledger, locked. slurmctld's callbacks wait for it.
pub struct LockedLedger<'shared_ledger> {
    ledger: MutexGuard<'shared_ledger, Ledger>,
    _no_io: NoIo,
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
    /// The ledger, for a question.
    pub(crate) fn ledger(&self) -> LockedLedger<'_> {
        LockedLedger { ledger: lock(&self.ledger), _no_io: NoIo::new() }
    }

    /// What the ledger says may not be true from now on.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Release);
    }

    /// Whether the ledger has failed once: not all that it waits for comes.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Acquire)
    }

    /// Tells the ledger what happened and passes on what it wants done. False if that showed a fault in the ledger.
    ///
    /// The queues are filled while the ledger is locked, so that actions leave in the order they were decided.
    pub(crate) fn tell(&self, outside: &dyn Outside, event: Event) -> bool {
        let about = About::of(&event);
        let mut ledger = self.ledger();
        let decided = guard(&|| about.to_string(), None, || Some(ledger.apply(outside.now(), event)));
        if let Some(actions) = decided {
            outside.carry_out(actions);
            return true;
        }
        // What it would have decided is lost, and it may be half-changed. To be known before anybody acts on that.
        self.distrust();
        outside.carry_out(about.let_go(&ledger));
        false
    }
}

#[cfg(test)]
#[path = "shared_ledger_tests.rs"]
mod tests;
