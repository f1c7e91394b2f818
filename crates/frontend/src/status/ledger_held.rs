//! The time for which the copies of the status document keep the ledger locked.

use std::time::Instant;

use ledger::Ledger;
use vipu_status::Histogram;

use crate::frontend::Frontend;

/// The bounds for the time of one portion, in seconds.
const PORTION: [f64; 11] = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2];

/// The time of each portion so far.
pub(super) struct LedgerHeld(Histogram);

impl Default for LedgerHeld {
    fn default() -> Self {
        Self(Histogram::new(&PORTION))
    }
}

impl LedgerHeld {
    /// Copies a portion of the locked ledger. The time does not include the wait for the lock.
    pub(super) fn copy<T>(&mut self, frontend: &Frontend, portion: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = frontend.ledger();
        let locked = Instant::now();
        let copy = portion(&mut ledger);
        drop(ledger);
        self.0.add(locked.elapsed().as_secs_f64());
        copy
    }

    pub(super) fn times(&self) -> &Histogram {
        &self.0
    }
}
