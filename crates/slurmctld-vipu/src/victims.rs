//! Jobs that are to be preempted for another's IPUs, between the two halves of its test.

use std::sync::{Mutex, PoisonError};

/// For which job, and which jobs. A test runs under slurmctld's job write lock, so there is one at a time.
#[derive(Debug, Default)]
pub(crate) struct Victims(Mutex<Option<(u32, Vec<u32>)>>);

impl Victims {
    /// A test has begun.
    pub(crate) fn none(&self) {
        self.put(None);
    }

    /// These have to go for that job, if the stock selector has nodes for it.
    pub(crate) fn set(&self, job: u32, victims: Vec<u32>) {
        self.put(Some((job, victims)));
    }

    /// The test is over: who has to go.
    pub(crate) fn take(&self, job: u32) -> Vec<u32> {
        let of_this = |(other, _): &(u32, Vec<u32>)| *other == job;
        self.put(None).filter(of_this).map(|(_, victims)| victims).unwrap_or_default()
    }

    fn put(&self, victims: Option<(u32, Vec<u32>)>) -> Option<(u32, Vec<u32>)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), victims)
    }
}
