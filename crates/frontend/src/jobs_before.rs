//! The jobs that existed when this slurmctld took over.

use std::collections::HashMap;

use ledger::Claim;
use vipu_types::JobRun;

use crate::slurm::Job;
use crate::sync::{Mutex, lock};
use crate::waiting_job::WaitingJob;

/// The jobs that existed when this slurmctld took over, kept until the journal has been read.
#[derive(Default)]
pub(crate) struct JobsBefore(Mutex<HashMap<u32, Before>>);

/// Facts about a job that the journal does not have.
struct Before {
    /// Its request, if it waits.
    waiting: Option<WaitingJob>,
    /// The number of its restarts, if it is in line, also as a held job.
    restarts_in_line: Option<u16>,
    slurm_partition: Option<String>,
}

impl JobsBefore {
    pub(crate) fn add(&self, job: impl Job) {
        let is_in_line = job.is_pending() && !job.is_completing();
        let before = Before {
            waiting: WaitingJob::of(job),
            restarts_in_line: is_in_line.then(|| job.restart_count()),
            slurm_partition: job.slurm_partition(),
        };
        lock(&self.0).insert(job.id(), before);
    }

    /// A job that waits.
    pub(crate) fn waiting(&self, job: u32) -> Option<WaitingJob> {
        lock(&self.0).get(&job).and_then(|before| before.waiting.clone())
    }

    /// Whether this job waits, according to Slurm's saved state.
    pub(crate) fn has_waiting(&self, job: u32) -> bool {
        lock(&self.0).get(&job).is_some_and(|before| before.waiting.is_some())
    }

    /// Whether this run has begun and ended, according to Slurm's saved state. Slurm may have saved its state before the
    /// run began.
    pub(crate) fn has_seen_end(&self, run: JobRun) -> bool {
        let all = lock(&self.0);
        let before = all.get(&run.job);
        before.is_some_and(|before| before.restarts_in_line.is_none_or(|restarts| restarts > run.restart))
    }

    /// A claim of the journal, completed with the job's Slurm partition.
    pub(crate) fn complete(&self, claim: &Claim) -> Claim {
        let slurm_partition =
            lock(&self.0).get(&claim.run.job).and_then(|before| before.slurm_partition.clone());
        Claim { slurm_partition, ..claim.clone() }
    }

    /// Forgets all jobs, after the journal has been read.
    pub(crate) fn forget(&self) {
        lock(&self.0).clear();
    }
}
