//! Slurm's jobs as the ledger asks for them: their requests, their ends and their places in line.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{Candidate, Jobs, LicenseReservations, Rank, Seconds, WholeTimes, Wish};
use vipu_types::ModelName;

use crate::frontend::Frontend;
use crate::request::Resolved;
use crate::slurm::{Job, Test};

/// The request of a job and its place in line. A heterogeneous job starts as a whole: its place is that of its last
/// component.
pub(crate) fn wish<J: Job>(job: J, wanted: &Resolved) -> Wish {
    let components = job.components();
    let rank = |of: J| (of.is_in_reservation(), of.priority_tier(), of.priority());
    let last = components.iter().map(|component| rank(*component)).min();
    let (in_reservation, tier, priority) = last.unwrap_or_else(|| rank(job));
    let rank = Rank { in_reservation, tier, priority, job: std::cmp::Reverse(job.id()) };
    Wish {
        model: wanted.model.clone(),
        size: wanted.size,
        rank,
        duration: ledger::span(job.time_limit()),
        controllers: None,
        components: components.into_iter().map(J::id).collect(),
    }
}

/// Slurm's jobs, under the lock of a callback.
pub(crate) struct InSlurm<J> {
    any: J,
    now: Seconds,
    patience: i64,
    license_reservations: Arc<BTreeMap<ModelName, LicenseReservations>>,
    whole_times: Arc<BTreeMap<ModelName, WholeTimes>>,
}

impl<J: Job> InSlurm<J> {
    pub(crate) fn new(frontend: &Frontend, any: J) -> Self {
        Self {
            any,
            now: frontend.outside().unix_time(),
            patience: frontend.patience(),
            license_reservations: frontend.license_reservations(),
            whole_times: frontend.whole_times(),
        }
    }

    /// The job with this id, under the lock of the callback.
    pub(crate) fn job(&self, id: u32) -> Option<J> {
        self.any.other(id)
    }
}

impl<J: Job> Jobs for InSlurm<J> {
    fn now(&self) -> Seconds {
        self.now
    }

    fn end_of(&self, job: u32) -> Option<Seconds> {
        let job = self.any.other(job)?;
        if job.is_pending() {
            // Its partition is ready before it. The job will hold the partition for its time limit, whenever
            // it starts.
            return Some(Seconds(self.now.0.saturating_add(job.time_limit())));
        }
        (job.is_running() || job.is_suspended()).then(|| Seconds(job.end_time()))
    }

    fn waits(&self, job: u32) -> bool {
        // The reason of a job in several Slurm partitions is that of the partition in which it was tried last. It may
        // not hold in the others.
        let has_one_reason = |job: &J| job.slurm_partitions().is_none_or(|names| !names.contains(','));
        let waits = |job: &J| {
            let is_in_line = job.waits_in_line() || !has_one_reason(job);
            is_in_line && job.is_pending() && job.priority() != 0
        };
        self.any.other(job).is_some_and(|job| waits(&job) && job.components().iter().all(waits))
    }

    fn expected(&self, job: u32) -> Option<Seconds> {
        let job = self.any.other(job).filter(|job| job.is_pending())?;
        Some(Seconds(job.start_time()))
    }

    fn patience(&self) -> std::time::Duration {
        ledger::span(self.patience)
    }

    fn license_reservations(&self, model: &ModelName) -> LicenseReservations {
        self.license_reservations.get(model).cloned().unwrap_or_default()
    }

    fn whole_times(&self, model: &ModelName) -> WholeTimes {
        self.whole_times.get(model).cloned().unwrap_or_default()
    }

    fn user_of(&self, job: u32) -> u32 {
        self.any.other(job).map_or(0, Job::user)
    }
}

/// The jobs that a test may preempt.
pub(crate) fn candidates(test: &impl Test) -> Vec<Candidate> {
    let candidates = test.candidates().into_iter();
    candidates.map(|job| Candidate { job: job.id(), dying: job.is_being_preempted() }).collect()
}
