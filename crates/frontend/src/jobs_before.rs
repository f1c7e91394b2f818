//! The jobs that existed when this slurmctld took over.

use std::collections::HashMap;

use ledger::Claim;

use crate::models::Models;
use crate::request::Request;
use crate::slurm::Job;
use crate::sync::{Mutex, lock};

/// The request of a job that has no nodes and is not held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    user: u32,
    restart: u16,
    tres: String,
}

impl Waiting {
    /// None for a job that does not wait.
    pub(crate) fn of(job: impl Job) -> Option<Self> {
        let waits = job.is_pending() && !job.is_completing() && job.priority() != 0;
        let tres = job.tres_per_node()?;
        waits.then(|| Self { user: job.user(), restart: job.restart_count(), tres })
    }

    /// Whether the job asks for the partition that is claimed for it.
    pub(crate) fn wants(&self, models: &Models, claim: &Claim) -> bool {
        // Its options cannot have changed.
        let request = Request { tres: self.tres.clone(), ..Request::default() };
        let found = models.find(&request).ok().flatten();
        found.is_some_and(|wanted| wanted.is_claimed_by(claim, self.user, self.restart))
    }
}

/// The jobs that existed when this slurmctld took over, kept until the journal has been read.
#[derive(Default)]
pub(crate) struct JobsBefore(Mutex<HashMap<u32, Before>>);

/// Facts about a job that the journal does not have.
struct Before {
    /// Its request, if it waits.
    waiting: Option<Waiting>,
    slurm_partition: Option<String>,
}

impl JobsBefore {
    pub(crate) fn add(&self, job: impl Job) {
        let before = Before { waiting: Waiting::of(job), slurm_partition: job.slurm_partition() };
        lock(&self.0).insert(job.id(), before);
    }

    /// Whether a job waits for the partition of this claim.
    pub(crate) fn wait_for(&self, models: &Models, claim: &Claim) -> bool {
        let all = lock(&self.0);
        let waiting = all.get(&claim.run.job).and_then(|before| before.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.wants(models, claim))
    }

    /// Whether this job waits, according to Slurm's saved state.
    pub(crate) fn has_waiting(&self, job: u32) -> bool {
        lock(&self.0).get(&job).is_some_and(|before| before.waiting.is_some())
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
