//! Values that one callback about a job leaves for the next.

use std::sync::{Mutex, PoisonError};

use ledger::Seconds;

use crate::request::Resolved;
use crate::slurm::Job;

/// The work that follows once the stock selector has found nodes for a start.
#[derive(Debug)]
pub(crate) enum OnNodes {
    /// Make the partition first.
    Prepare(Resolved),
    /// Remove the partitions that were prepared for these jobs, which come later in line. The text is the
    /// reason of the job meanwhile.
    Displace(Vec<u32>, String),
}

/// The job, and its Slurm partition, for which backfill asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    job: u32,
    slurm_partition: usize,
}

impl Asked {
    pub(crate) fn of(job: impl Job) -> Self {
        Self { job: job.id(), slurm_partition: job.slurm_partition_address() }
    }
}

/// A start that the IPUs of a job dictate, as backfill was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) at: Seconds,
    /// None if the start is unknown.
    pub(crate) start: Option<Seconds>,
}

/// One value for the next callback with the same key. Tests run under slurmctld's job write lock, so one
/// value at a time is enough.
#[derive(Debug)]
pub(crate) struct BetweenCallbacks<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for BetweenCallbacks<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V> BetweenCallbacks<K, V> {
    /// Leaves a value, in place of an earlier one.
    pub(crate) fn leave(&self, key: K, value: V) {
        self.put(Some((key, value)));
    }

    /// Forgets the value.
    pub(crate) fn clear(&self) {
        self.put(None);
    }

    /// Takes the value that was left for this key. A value for another key is dropped.
    pub(crate) fn take(&self, key: &K) -> Option<V> {
        self.put(None).filter(|(left, _)| left == key).map(|(_, value)| value)
    }

    fn put(&self, new: Option<(K, V)>) -> Option<(K, V)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}
