//! The start that backfill was told last, for when it asks again.

use std::sync::{Mutex, PoisonError};

use ledger::Seconds;
use slurm_host::job::JobRef;

/// For whom backfill asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    job: u32,
    slurm_partition: usize,
}

impl Asked {
    pub(crate) fn of(job: JobRef<'_>) -> Self {
        Self { job: job.id(), slurm_partition: job.slurm_partition_address() }
    }
}

/// The answer to the test right before this one, if the job's IPUs made it: when it starts, `None` if nobody knows.
/// A test runs under slurmctld's job write lock, so there is one at a time.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<Option<(Asked, Option<Seconds>)>>);

impl Told {
    /// Backfill was told this.
    pub(crate) fn set(&self, asked: Asked, start: Option<Seconds>) {
        self.put(Some((asked, start)));
    }

    /// A test has begun: what the one before it was told, if that asked for the same.
    pub(crate) fn take(&self, asked: Asked) -> Option<Option<Seconds>> {
        self.put(None).filter(|(before, _)| *before == asked).map(|(_, start)| start)
    }

    fn put(&self, told: Option<(Asked, Option<Seconds>)>) -> Option<(Asked, Option<Seconds>)> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), told)
    }
}
