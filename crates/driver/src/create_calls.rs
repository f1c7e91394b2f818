//! The create calls for one partition: whether each was answered, and whether the controller has had the partition.

use std::cell::Cell;

use crate::{LiveRecord, Stage};

/// The create calls for one partition.
#[derive(Default)]
pub(crate) struct CreateCalls {
    /// The number of calls without an answer and without a visible effect. Each may still take effect, however late.
    unanswered: Cell<u32>,
    /// The sender of the last call, if it is one of these.
    open: Cell<Option<Sender>>,
    /// The controller has had the partition.
    was_made: Cell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    ThisDriver,
    /// An earlier slurmctld, which may have ended before the answer came.
    Earlier,
}

impl CreateCalls {
    /// The calls of an earlier slurmctld.
    pub fn of(record: &LiveRecord) -> Self {
        let is_open = record.has_open_call();
        Self {
            unanswered: Cell::new(record.unanswered + u32::from(is_open)),
            open: Cell::new(is_open.then_some(Sender::Earlier)),
            was_made: Cell::new(record.stays || record.stage == Stage::Created || record.launched.is_some()),
        }
    }

    /// Notes that a call is sent. From now on nobody can tell the effect of an earlier call from its effect.
    pub fn sent(&self) {
        self.open.set(None);
    }

    /// Notes that the controller took the request of the last call.
    pub fn accepted(&self) {
        self.was_made.set(true);
    }

    /// Notes that the last call was not answered.
    pub fn not_answered(&self) {
        self.unanswered.update(|calls| calls + 1);
        self.open.set(Some(Sender::ThisDriver));
    }

    /// Notes that the controller has the partition. This is the effect of the last call, if it was not answered.
    pub fn seen(&self) {
        self.was_made.set(true);
        if self.open.take().is_some() {
            self.unanswered.update(|calls| calls.saturating_sub(1));
        }
    }

    /// Notes that a listing has the partition. The listing may have been requested before the last call of this
    /// driver.
    pub fn listed(&self) {
        if self.open.get() == Some(Sender::Earlier) {
            self.seen();
        }
    }

    /// The number of calls that may still make the partition.
    pub fn number_unanswered(&self) -> u32 {
        self.unanswered.get()
    }

    /// Whether an unanswered call may still make the partition.
    pub fn may_come_late(&self) -> bool {
        self.unanswered.get() > 0
    }

    /// Whether the controller has had the partition, as far as is known.
    pub fn was_made(&self) -> bool {
        self.was_made.get()
    }

    /// Forgets the unanswered calls, because they are too old to take effect.
    pub fn forget(&self) {
        self.unanswered.set(0);
        self.open.set(None);
    }
}
