//! What this slurmctld knows from the time before it took over.

use std::collections::HashMap;

use ledger::{Claim, Seconds};
use vipu_types::{JobRun, PartitionId};

use crate::mutex::{Mutex, lock};
use crate::request::WaitingJob;
use crate::slurm::{Job, leader_of};

/// Jobs and runs from before this slurmctld took over.
#[derive(Default)]
pub(crate) struct FromBefore {
    pub(crate) jobs: JobsBefore,
    /// Launch times of batch scripts that an earlier slurmctld launched, by partition and job: another job may get a
    /// partition of a pool.
    pub(crate) launched: Mutex<HashMap<(PartitionId, u32), Seconds>>,
    /// The nodes of runs of which processes may be left, by the job that must not begin again before they told.
    pub(crate) left_runs: Mutex<HashMap<u32, Vec<String>>>,
}

/// The jobs that existed when this slurmctld took over, kept until the journal has been read.
#[derive(Default)]
pub(crate) struct JobsBefore(Mutex<HashMap<u32, Before>>);

/// Facts about a job that the journal does not have.
struct Before {
    /// Its request, if it waits.
    waiting: Option<WaitingJob>,
    restarts: u16,
    /// Whether its next run has not begun: it is in line, held, or its nodes are being cleaned.
    is_in_line: bool,
    slurm_partition: Option<String>,
    script: Option<ScriptPlace>,
}

/// The place of a batch script.
#[derive(Clone, Debug)]
pub(crate) struct ScriptPlace {
    /// The job of the script: this one, or the leader of its heterogeneous job.
    pub(crate) job: u32,
    /// The node that runs the script.
    pub(crate) host: String,
}

impl ScriptPlace {
    fn of(job: impl Job) -> Option<Self> {
        let leader = job.other(leader_of(job)).unwrap_or(job);
        let host =
            leader.batch_host().filter(|_| job.is_batch() && (job.is_running() || job.is_suspended()))?;
        Some(Self { job: leader.id(), host })
    }
}

impl JobsBefore {
    pub(crate) fn add(&self, job: impl Job) {
        let before = Before {
            waiting: WaitingJob::of(job),
            restarts: job.restart_count(),
            is_in_line: job.is_pending(),
            slurm_partition: job.slurm_partition(),
            script: ScriptPlace::of(job),
        };
        lock(&self.0).insert(job.id(), before);
    }

    /// Whether Slurm knew this job.
    pub(crate) fn has(&self, job: u32) -> bool {
        lock(&self.0).contains_key(&job)
    }

    /// A job that waits.
    pub(crate) fn waiting(&self, job: u32) -> Option<WaitingJob> {
        lock(&self.0).get(&job).and_then(|before| before.waiting.clone())
    }

    /// The batch scripts of the jobs that have nodes, with these jobs.
    pub(crate) fn scripts(&self) -> Vec<(u32, ScriptPlace)> {
        let all = lock(&self.0);
        all.iter().filter_map(|(job, before)| Some((*job, before.script.clone()?))).collect()
    }

    /// Whether this run has begun and ended, according to Slurm's saved state. Slurm may have saved its state before the
    /// run began.
    pub(crate) fn has_seen_end(&self, run: JobRun) -> bool {
        let is_seen = |before: &Before| {
            before.restarts > run.restart || before.restarts == run.restart && !before.is_in_line
        };
        lock(&self.0).get(&run.job).is_some_and(is_seen)
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
