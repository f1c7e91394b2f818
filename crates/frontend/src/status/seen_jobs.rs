//! Facts about jobs, as the host thread last saw them.

use std::collections::{HashMap, VecDeque};

use vipu_status::Job;

use crate::frontend::Frontend;
use crate::guard::guard;
use crate::slurm::{Job as _, Slurm};
use crate::sync::{Mutex, lock};

/// The most jobs that are looked at under one lock, which takes less than two milliseconds.
const AT_ONCE: usize = 500;

/// The facts about one job.
#[derive(Clone, Debug)]
pub(crate) struct SeenJob {
    pub(super) user: u32,
    pub(super) component: Option<(u32, u32)>,
    pub(super) array: Option<(u32, u32)>,
    pub(super) name: Option<String>,
    pub(super) slurm_partition: Option<String>,
    pub(super) reason: Option<String>,
    latest_end: LatestEnd,
}

/// The latest end of a job.
#[derive(Clone, Copy, Debug)]
enum LatestEnd {
    /// It has its nodes and ends by this time.
    At(i64),
    /// It waits, and ends this number of seconds after its start.
    AfterStart(i64),
    /// It has ended.
    Over,
}

impl SeenJob {
    /// The latest end of the job if it starts now at the latest.
    pub(super) fn ends(&self, now: i64) -> Option<i64> {
        match self.latest_end {
            LatestEnd::At(end) => Some(end),
            LatestEnd::AfterStart(limit) => Some(now.saturating_add(limit)),
            LatestEnd::Over => None,
        }
    }
}

/// The facts about the jobs of the status document.
#[derive(Default)]
pub(crate) struct SeenJobs(Mutex<HashMap<u32, SeenJob>>);

impl SeenJobs {
    pub(super) fn all(&self) -> HashMap<u32, SeenJob> {
        lock(&self.0).clone()
    }

    pub(super) fn retain(&self, is_wanted: impl Fn(u32) -> bool) {
        lock(&self.0).retain(|job, _| is_wanted(*job));
    }
}

/// The jobs that the host thread still has to look at.
#[derive(Default)]
pub(crate) struct JobsToSee(VecDeque<u32>);

impl JobsToSee {
    /// Adds jobs, unless earlier ones still wait for their look. The composer then asks again.
    pub(crate) fn add(&mut self, jobs: Vec<u32>) {
        if self.0.is_empty() {
            self.0 = jobs.into();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks at the next jobs. The others wait for the next turn, so that tasks are not held up.
    pub(crate) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        if self.0.is_empty() {
            return;
        }
        let jobs: Vec<u32> = self.0.drain(..AT_ONCE.min(self.0.len())).collect();
        let seen = slurm
            .look_at(&jobs, |job| guard(&|| format!("look at job {}", job.id()), None, || Some(see(job))));
        let mut book = lock(&frontend.seen_jobs.0);
        for (job, seen) in jobs.into_iter().zip(seen) {
            match seen.flatten() {
                Some(seen) => drop(book.insert(job, seen)),
                None => drop(book.remove(&job)),
            }
        }
    }
}

fn see(job: impl crate::slurm::Job) -> SeenJob {
    SeenJob {
        user: job.user(),
        component: (job.het_job() != 0).then(|| (job.het_job(), job.het_offset())),
        array: job.array().filter(|_| !job.is_unsplit_array()),
        name: job.name(),
        slurm_partition: job.slurm_partition(),
        reason: job.reason().filter(|_| job.is_pending()),
        latest_end: match job {
            job if job.is_pending() => LatestEnd::AfterStart(job.time_limit()),
            job if job.is_running() || job.is_suspended() => LatestEnd::At(job.end_time()),
            _ => LatestEnd::Over,
        },
    }
}

/// The job of the document. A job that was not seen yet has its id only.
pub(super) fn job(id: u32, seen: Option<&SeenJob>) -> Job {
    let Some(seen) = seen else { return Job { id, ..Job::default() } };
    Job {
        id,
        user: seen.user,
        component: seen.component,
        array: seen.array,
        name: seen.name.clone(),
        slurm_partition: seen.slurm_partition.clone(),
    }
}
