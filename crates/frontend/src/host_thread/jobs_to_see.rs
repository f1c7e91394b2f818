//! The look at jobs for the status document.

use std::collections::BTreeSet;
use std::mem;

use super::reason_recheck::ReasonRecheck;
use crate::frontend::Frontend;
use crate::internal_error::guard;
use crate::slurm::{Job as _, Slurm};
use crate::status::seen_jobs::SeenJob;

/// The most jobs that are looked at under one lock, which takes less than two milliseconds.
const AT_ONCE: usize = 500;

/// The most jobs that are found because they wait for something else than IPUs, so that one user cannot make
/// the document too large for its readers.
const MOST_PENDING: usize = 10_000;

/// The jobs that the host thread still has to look at.
#[derive(Default)]
pub(crate) struct JobsToSee {
    jobs: BTreeSet<u32>,
    /// Whether the pending jobs with IPUs still have to be found.
    and_all_pending: bool,
}

impl JobsToSee {
    /// Adds jobs, unless earlier ones still wait for their look. The composer then asks again.
    pub(crate) fn add(&mut self, jobs: Vec<u32>, and_all_pending: bool) {
        if self.is_empty() {
            self.jobs.extend(jobs);
        }
        self.and_all_pending |= and_all_pending;
    }

    /// Adds a job of which something else is known now, if it is in the document.
    pub(super) fn add_news(&mut self, frontend: &Frontend, job: u32) {
        if frontend.seen_jobs.has(job) {
            self.jobs.insert(job);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && !self.and_all_pending
    }

    /// Looks at the next jobs. The others wait for the next turn, so that tasks are not held up.
    pub(super) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, reasons: &ReasonRecheck) {
        if mem::take(&mut self.and_all_pending) {
            self.jobs.extend(slurm.pending_with_ipus().into_iter().take(MOST_PENDING));
        }
        let jobs: Vec<u32> = self.jobs.iter().take(AT_ONCE).copied().collect();
        let Some(last) = jobs.last() else { return };
        self.jobs = self.jobs.split_off(&(last + 1));
        let seen = slurm.look_at(&jobs, |job| {
            let see = || Some(SeenJob::of(frontend, job, reasons.in_full(job)));
            guard(&|| format!("look at job {}", job.id()), None, see)
        });
        for (job, seen) in jobs.into_iter().zip(seen) {
            frontend.seen_jobs.note(job, seen.flatten());
        }
    }
}
