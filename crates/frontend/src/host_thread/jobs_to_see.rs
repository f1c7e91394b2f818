//! The look at jobs for the status document.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use vipu_status::{Job, Rank};
use vipu_types::{GresRequest, IpuCount, ModelName};

use super::reason_recheck::ReasonRecheck;
use crate::frontend::Frontend;
use crate::internal_error::guard;
use crate::slurm::{Job as _, Slurm};
use crate::status::seen_jobs::{LatestEnd, SeenJob, has_no_limit};

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
            guard(&|| format!("look at job {}", job.id()), None, || Some(see(frontend, job, reasons)))
        });
        for (job, seen) in jobs.into_iter().zip(seen) {
            frontend.seen_jobs.note(job, seen.flatten());
        }
    }
}

fn see(frontend: &Frontend, job: impl crate::slurm::Job, reasons: &ReasonRecheck) -> SeenJob {
    let waits = job.is_pending() || job.is_configuring();
    SeenJob {
        job: Arc::new(Job {
            id: job.id(),
            user: job.user(),
            component: (job.het_job() != 0).then(|| (job.het_job(), job.het_offset())),
            array: job.array().filter(|_| !job.is_unsplit_array()),
            name: job.name().map(Arc::from),
            slurm_partition: job.slurm_partition().map(Arc::from),
            qos: job.qos().map(Arc::from),
            ..Job::default()
        }),
        reason: waits.then(|| reasons.in_full(job)).flatten().map(Arc::from),
        tasks: job.tasks_left().max(1),
        rank: Rank {
            in_reservation: job.is_in_reservation(),
            tier: job.priority_tier(),
            priority: job.priority(),
        },
        waits_for: Some(job).filter(|job| job.is_pending()).and_then(|job| waits_for(frontend, job)),
        elsewhere_since: (job.is_pending() && !job.waits_in_line()).then(|| frontend.outside().unix_time()),
        latest_end: match job {
            job if job.is_pending() => LatestEnd::AfterStart(job.time_limit()),
            job if job.is_running() && has_no_limit(job.time_limit()) => LatestEnd::Open,
            job if job.is_running() => LatestEnd::At(job.end_time()),
            job if job.is_suspended() => LatestEnd::Suspended,
            _ => LatestEnd::Over,
        },
        begins: job.begin_time(),
    }
}

/// The model and the IPUs of the job's request, also if the site's limits refuse it by now.
fn waits_for(frontend: &Frontend, job: impl crate::slurm::Job) -> Option<(ModelName, IpuCount)> {
    match frontend.models().wanted(job) {
        Ok(wanted) => wanted.map(|wanted| (wanted.model, wanted.size)),
        Err(_) => {
            let request = GresRequest::find(&job.tres_per_node()?).ok()??;
            Some((request.of.as_ref()?.model(), IpuCount::new(request.ipus()?).ok()?))
        }
    }
}
