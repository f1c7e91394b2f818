//! A Slurm that has nodes enough: jobs come, are tried in order of age, start and end.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use ledger::{KnownJobs, Seconds};

use crate::Job;

/// How many waiting jobs one pass tries, as backfill does (`bf_max_job_test`).
const DEPTH: usize = 500;

/// Who may start.
pub trait Scheduler {
    /// All waiting jobs will be tried, the oldest first.
    fn begin_pass(&mut self, _moment: &KnownJobs) {}

    /// Starts the job, if it may start now.
    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict;

    /// A job that was started is over, and its partition gone.
    fn end(&mut self, job: &Job);
}

/// What becomes of a job that is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has its partition.
    Starts,
    /// It may not start now.
    Waits,
    /// It might, but the controller had no room for its partition; the job goes back into the line.
    Refused,
}

/// How long a job waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// Its IPUs.
    pub size: u32,
    /// Seconds from its submission to its start.
    pub seconds: i64,
}

/// What became of all jobs.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Of each job that started.
    pub waited: Vec<Waited>,
    /// IPU seconds used while jobs were submitted.
    pub used: i64,
    /// How often a controller refused a partition.
    pub refused: u64,
}

/// Plays all jobs, the oldest first, to their end.
pub fn play(jobs: &[Job], span: i64, scheduler: &mut impl Scheduler) -> Outcome {
    // Backfill looks at every one of them all the time.
    let mut moment = KnownJobs {
        now: Seconds(0),
        ends: HashMap::new(),
        expected: HashMap::new(),
        patience: Duration::MAX,
    };
    let mut outcome = Outcome::default();
    let mut queue: Vec<&Job> = Vec::new();
    // When each running job ends, and its place in `jobs`.
    let mut running: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut submitted = 0;
    loop {
        let next_submit = jobs.get(submitted).map(|job| job.submitted);
        let next_end = running.peek().map(|Reverse((end, _))| *end);
        let Some(now) = next_submit.into_iter().chain(next_end).min() else { break };
        moment.now = Seconds(now);
        while let Some(&Reverse((_, number))) = running.peek().filter(|Reverse((end, _))| *end <= now) {
            running.pop();
            moment.ends.remove(&jobs[number].id);
            scheduler.end(&jobs[number]);
        }
        while let Some(job) = jobs.get(submitted).filter(|job| job.submitted <= now) {
            queue.push(job);
            submitted += 1;
        }
        for job in pass(&mut queue, &mut moment, scheduler, &mut outcome.refused) {
            running.push(Reverse((now + job.duration, job.id as usize - 1)));
            outcome.waited.push(Waited { size: job.size, seconds: now - job.submitted });
            outcome.used += i64::from(job.size) * ((now + job.duration).min(span) - now).max(0);
        }
    }
    assert!(queue.is_empty(), "{} jobs never start", queue.len());
    outcome
}

/// Tries the waiting jobs, the oldest first; who starts.
fn pass<'a>(
    queue: &mut Vec<&'a Job>,
    moment: &mut KnownJobs,
    scheduler: &mut impl Scheduler,
    refused: &mut u64,
) -> Vec<&'a Job> {
    scheduler.begin_pass(moment);
    let (mut tried, mut started) = (0, Vec::new());
    queue.retain(|job| {
        tried += 1;
        let verdict = if tried <= DEPTH { scheduler.start(job, moment) } else { Verdict::Waits };
        if verdict == Verdict::Starts {
            moment.ends.insert(job.id, Seconds(moment.now.0 + job.limit));
            started.push(*job);
        }
        *refused += u64::from(verdict == Verdict::Refused);
        verdict != Verdict::Starts
    });
    started
}
