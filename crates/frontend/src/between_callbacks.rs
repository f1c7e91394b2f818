//! What one step of Slurm's questions about a job leaves to the next.

use std::sync::{Mutex, PoisonError};

use ledger::{Seconds, Wait};

use crate::request::Resolved;
use crate::slurm::Job;

/// What is to be done once the stock selector has found nodes for a start.
#[derive(Debug)]
pub(crate) enum OnNodes {
    /// Have the partition made first.
    Prepare(Resolved),
    /// Have what was prepared for these jobs removed, which come after; and why the job has to wait for that.
    Displace(Vec<u32>, Wait),
}

/// For which job, in which Slurm partition, backfill asks.
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

/// A start that a job's IPUs dictate, as backfill was told it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) at: Seconds,
    /// None when nobody knows.
    pub(crate) start: Option<Seconds>,
}

/// One value, for whoever asks for the same right after. Tests run under slurmctld's job write lock, so there is one at a
/// time.
#[derive(Debug)]
pub(crate) struct BetweenCallbacks<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for BetweenCallbacks<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V> BetweenCallbacks<K, V> {
    /// Leaves a value in the place of whatever was left before.
    pub(crate) fn leave(&self, key: K, value: V) {
        self.put(Some((key, value)));
    }

    /// Forgets what was left.
    pub(crate) fn clear(&self) {
        self.put(None);
    }

    /// Takes what was left for this key; what was left for another is gone as well.
    pub(crate) fn take(&self, key: &K) -> Option<V> {
        self.put(None).filter(|(left, _)| left == key).map(|(_, value)| value)
    }

    fn put(&self, new: Option<(K, V)>) -> Option<(K, V)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}
