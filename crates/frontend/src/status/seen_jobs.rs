//! Facts about jobs, as the host thread last saw them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ledger::Seconds;
use vipu_status::{Job, Rank, UNLIMITED};
use vipu_types::{GresRequest, IpuCount, ModelName};

use super::status_writer::StatusWriter;
use crate::frontend::Frontend;
use crate::mutex::{Mutex, lock};
use crate::slurm;

/// The facts about one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenJob {
    /// Documents share it.
    pub(crate) job: Arc<Job>,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) rank: Rank,
    /// The tasks of a job array for which the job stands. 1 for other jobs.
    pub(crate) tasks: u32,
    /// The model and the IPUs that it wants. None if it does not wait, or if its request is no longer valid.
    pub(crate) waits_for: Option<(ModelName, IpuCount)>,
    /// The Unix time of the first look that showed that it waits for something else than IPUs, for example
    /// because it is held. None if the last look showed otherwise.
    pub(crate) elsewhere_since: Option<Seconds>,
    pub(crate) latest_end: LatestEnd,
    /// The earliest start that its user or Slurm has set (`--begin`, a requeue), as a Unix time.
    pub(crate) begins: i64,
}

/// The latest end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatestEnd {
    /// It has its nodes and ends by this time.
    At(i64),
    /// It has its nodes and no time limit.
    Open,
    /// It waits, and ends this number of seconds after its start.
    AfterStart(i64),
    /// It is suspended. Its time goes on when it is resumed.
    Suspended,
    /// It has ended.
    Over,
}

impl SeenJob {
    /// The facts about a job under a lock. `reason` is the one that squeue shows, in full.
    pub(crate) fn of(frontend: &Frontend, job: impl slurm::Job, reason: Option<String>) -> Self {
        let waits = job.is_pending() || job.is_configuring();
        Self {
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
            reason: reason.filter(|_| waits).map(Arc::from),
            tasks: job.tasks_left().max(1),
            rank: Rank {
                in_reservation: job.is_in_reservation(),
                tier: job.priority_tier(),
                priority: job.priority(),
            },
            waits_for: Some(job).filter(|job| job.is_pending()).and_then(|job| waits_for(frontend, job)),
            elsewhere_since: (job.is_pending() && !job.waits_in_line())
                .then(|| frontend.outside().unix_time()),
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

    /// The latest end of the job if it starts now at the latest.
    pub(super) fn ends(&self, now: i64) -> Option<i64> {
        match self.latest_end {
            LatestEnd::At(end) => Some(end),
            LatestEnd::AfterStart(_) if self.is_unlimited() => None,
            LatestEnd::AfterStart(limit) => Some(now.saturating_add(limit)),
            LatestEnd::Open | LatestEnd::Suspended | LatestEnd::Over => None,
        }
    }

    /// Whether it has no time limit, for which Slurm counts a year.
    pub(super) fn is_unlimited(&self) -> bool {
        match self.latest_end {
            LatestEnd::AfterStart(limit) => has_no_limit(limit),
            LatestEnd::Open => true,
            LatestEnd::At(_) | LatestEnd::Suspended | LatestEnd::Over => false,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.latest_end, LatestEnd::AfterStart(_))
    }

    /// Whether it waits for something else than IPUs, and no scheduler has asked for its IPUs since that was first
    /// seen. A scheduler also asks for the IPUs of a job whose limits it checks later.
    pub(super) fn waits_elsewhere(&self, asked: Seconds) -> bool {
        self.waits_for.is_some() && self.elsewhere_since.is_some_and(|since| asked <= since)
    }

    /// Whether the last look was before the end of its run, if that has ended.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.latest_end, LatestEnd::At(_) | LatestEnd::Open)
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.latest_end == LatestEnd::Suspended
    }

    /// The longest time in seconds that a waiting job may run.
    pub(super) fn time_limit(&self) -> u64 {
        match self.latest_end {
            LatestEnd::AfterStart(limit) => limit.unsigned_abs(),
            LatestEnd::At(_) | LatestEnd::Open | LatestEnd::Suspended | LatestEnd::Over => 0,
        }
    }
}

/// The model and the IPUs of the job's request, also if the site's limits refuse it by now.
fn waits_for(frontend: &Frontend, job: impl slurm::Job) -> Option<(ModelName, IpuCount)> {
    match frontend.models().wanted(job) {
        Ok(wanted) => wanted.map(|wanted| (wanted.model, wanted.size)),
        Err(_) => {
            let request = GresRequest::find(&job.tres_per_node()?).ok()??;
            Some((request.of.as_ref()?.model(), IpuCount::new(request.ipus()?).ok()?))
        }
    }
}

/// The facts about the jobs of the status document.
#[derive(Default)]
pub(crate) struct SeenJobs {
    book: Mutex<Book>,
    status_writer: StatusWriter,
}

#[derive(Default)]
struct Book {
    jobs: HashMap<u32, Arc<SeenJob>>,
    /// The texts of jobs. Jobs with equal texts share them: thousands of jobs may wait for one reason.
    texts: HashSet<Arc<str>>,
    /// The number of changes so far.
    changes: u64,
}

impl Book {
    /// The job with its texts shared.
    fn shared(&mut self, mut seen: SeenJob) -> SeenJob {
        let job = Arc::make_mut(&mut seen.job);
        let texts = [&mut job.name, &mut job.slurm_partition, &mut job.qos, &mut seen.reason];
        for text in texts.into_iter().flatten() {
            match self.texts.get(text) {
                Some(known) => *text = Arc::clone(known),
                None => drop(self.texts.insert(Arc::clone(text))),
            }
        }
        seen
    }
}

impl SeenJobs {
    /// No jobs. Wakes the thread that writes the document when there is news.
    pub(crate) fn new(status_writer: StatusWriter) -> Self {
        Self { book: Mutex::default(), status_writer }
    }

    pub(super) fn all(&self) -> HashMap<u32, Arc<SeenJob>> {
        lock(&self.book).jobs.clone()
    }

    pub(super) fn changes(&self) -> u64 {
        lock(&self.book).changes
    }

    pub(crate) fn has(&self, job: u32) -> bool {
        lock(&self.book).jobs.contains_key(&job)
    }

    /// Notes a look at a job. None means that Slurm no longer has the job.
    pub(crate) fn note(&self, job: u32, seen: Option<SeenJob>) {
        debug_assert!(seen.as_ref().is_none_or(|seen| seen.job.id == job));
        let mut book = lock(&self.book);
        let before = book.jobs.get(&job);
        let since = before.and_then(|before| before.elsewhere_since);
        let seen = seen.map(|seen| SeenJob {
            elsewhere_since: seen.elsewhere_since.map(|now| since.unwrap_or(now)),
            ..seen
        });
        if before.map(Arc::as_ref) == seen.as_ref() {
            return;
        }
        book.changes += 1;
        match seen.map(|seen| book.shared(seen)) {
            Some(seen) => drop(book.jobs.insert(job, Arc::new(seen))),
            None => drop(book.jobs.remove(&job)),
        }
        self.status_writer.wake();
    }

    pub(super) fn retain(&self, is_wanted: impl Fn(u32, &SeenJob) -> bool) {
        let book = &mut *lock(&self.book);
        book.jobs.retain(|job, seen| is_wanted(*job, seen));
        book.texts.retain(|text| Arc::strong_count(text) > 1);
    }
}

/// Whether a job with this time limit in seconds has none.
pub(crate) fn has_no_limit(seconds: i64) -> bool {
    seconds.unsigned_abs() >= UNLIMITED
}

/// The job of the document. A job that was not seen yet has its id only.
pub(super) fn job(id: u32, seen: Option<&SeenJob>) -> Arc<Job> {
    seen.map_or_else(|| Arc::new(Job { id, ..Job::default() }), |seen| Arc::clone(&seen.job))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn jobs_share_equal_texts_and_texts_without_a_job_go() {
        // The locks are those of shuttle, which needs a run of its own.
        let test = || {
            let jobs = SeenJobs::default();
            let seen = |id| SeenJob {
                job: Arc::new(Job { id, ..Job::default() }),
                reason: Some(Arc::from("vipu: no IPUs are free")),
                ..in_line()
            };
            (1..=3).for_each(|id| jobs.note(id, Some(seen(id))));
            let all = jobs.all();
            let reasons: Vec<_> = all.values().filter_map(|seen| seen.reason.clone()).collect();
            assert!(reasons.iter().all(|text| Arc::ptr_eq(text, &reasons[0])));
            drop((all, reasons));
            jobs.retain(|_, _| false);
            assert!(lock(&jobs.book).texts.is_empty());
        };
        shuttle::check_random(test, 1);
    }

    /// Job 7, which waits for 32 IPUs of pod64.
    pub(in crate::status) fn in_line() -> SeenJob {
        SeenJob {
            job: Arc::new(Job { id: 7, user: 1000, ..Job::default() }),
            reason: None,
            rank: Rank::default(),
            tasks: 1,
            waits_for: Some((ModelName::new("pod64").unwrap(), IpuCount::new(32).unwrap())),
            elsewhere_since: None,
            latest_end: LatestEnd::AfterStart(3600),
            begins: 0,
        }
    }

    /// The job when it waits, or runs, without a time limit.
    pub(in crate::status) fn unlimited() -> [SeenJob; 2] {
        let limit = i64::try_from(UNLIMITED).unwrap();
        [LatestEnd::AfterStart(limit), LatestEnd::Open].map(|latest_end| SeenJob { latest_end, ..in_line() })
    }

    /// The job when a look at this time shows that it is held.
    pub(in crate::status) fn held(now: Seconds) -> SeenJob {
        SeenJob { reason: Some("JobHeldAdmin".into()), elsewhere_since: Some(now), ..in_line() }
    }
}
