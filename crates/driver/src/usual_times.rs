//! The times that a controller usually takes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use vipu_types::IpuCount;

/// The time that each kind of work took last on a controller.
#[derive(Default)]
pub(crate) struct UsualTimes {
    /// The time from the answer to the create call until the partition was ready, by size.
    creates: RefCell<BTreeMap<IpuCount, Duration>>,
    /// The time of the last reset.
    pub reset: Cell<Option<Duration>>,
    /// The time from the answer to the remove call until the partition was gone.
    pub removal: Cell<Option<Duration>>,
}

impl UsualTimes {
    /// The time of the last create of this size.
    pub fn create(&self, size: IpuCount) -> Option<Duration> {
        self.creates.borrow().get(&size).copied()
    }

    /// Notes the time of a create.
    pub fn created(&self, size: IpuCount, took: Duration) {
        self.creates.borrow_mut().insert(size, took);
    }
}
