//! Notes that one callback about a job leaves for a later one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem;

use ledger::Seconds;
use vipu_types::{PartitionId, Reason};

use crate::mutex::{Mutex, lock};
use crate::node_choice::Choice;
use crate::request::Resolved;
use crate::slurm::{Job, Waiver};

/// The notes of a test of a job, from before the stock selector is asked until after it.
#[derive(Default)]
pub(crate) struct TestNotes {
    /// The jobs to preempt for the job.
    pub(crate) victims: BetweenCallbacks<u32, Vec<u32>>,
    /// The work that follows if the stock selector finds nodes.
    pub(crate) on_nodes: BetweenCallbacks<u32, OnNodes>,
    /// The nodes and IPUs among which the test may choose.
    pub(crate) choice: BetweenCallbacks<u32, Choice>,
    /// The start that backfill was told, until it asks again.
    pub(crate) told: BetweenCallbacks<Asked, Told>,
}

/// The entries in Slurm's records for its accounting that are taken back or completed later.
#[derive(Default)]
pub(crate) struct AccountingNotes {
    /// The job that has begun, until Slurm has its allocation.
    pub(crate) begun: BetweenCallbacks<u32, ()>,
    /// The jobs whose allocation has the number of IPUs in place of Slurm's mark.
    pub(crate) jobs: Mutex<BTreeSet<u32>>,
    /// The waivers of limits, by the job whose record got each.
    pub(crate) waivers: Mutex<BTreeMap<u32, Waiver>>,
    /// The partitions whose lines in sacct will end as failed.
    pub(crate) failed_partitions: Mutex<HashSet<PartitionId>>,
}

/// The work that follows once the stock selector has found nodes for a start.
#[derive(Debug)]
pub(crate) enum OnNodes {
    /// Make the partition first.
    Prepare(Resolved),
    /// Remove the partitions that are held for these jobs. The reason is that of the job meanwhile.
    Displace(Vec<u32>, Reason),
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
        mem::replace(&mut *lock(&self.0), new)
    }
}
