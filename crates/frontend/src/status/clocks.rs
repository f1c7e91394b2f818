//! The two clocks of the status document.

use ledger::Millis;

use crate::frontend::Frontend;

/// The two clocks at one moment.
#[derive(Clone, Copy)]
pub(super) struct Clocks {
    pub(super) ledger: Millis,
    /// In seconds since the Unix epoch.
    pub(super) unix: i64,
}

impl Clocks {
    pub(super) fn of(frontend: &Frontend) -> Self {
        Self { ledger: frontend.now(), unix: frontend.outside().unix_time().0 }
    }

    /// A time of the ledger's clock as Unix time.
    pub(super) fn unix(self, at: Millis) -> i64 {
        let ago = self.ledger.0.saturating_sub(at.0) / 1000;
        self.unix.saturating_sub_unsigned(ago)
    }
}
