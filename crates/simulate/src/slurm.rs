//! A simulated Slurm with enough nodes. Jobs are submitted, are tried in order of age, start and end.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use ledger::{KnownJobs, Seconds};

use crate::Job;

/// The most waiting jobs that one pass tries, as in backfill (`bf_max_job_test`).
const DEPTH: usize = 500;

/// A policy in action: it says which jobs may start.
pub trait Scheduler {
    /// Begins a pass, which tries waiting jobs, the oldest first.
    fn begin_pass(&mut self, _moment: &KnownJobs) {}

    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict;

    fn end(&mut self, job: &Job);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Starts,
    Waits,
    /// The job may start, but the controller had no room for its partition. The job goes back into the line.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub size: u32,
    /// Seconds from its submission to its start.
    pub seconds: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub waited: Vec<Waited>,
    /// IPU seconds used while jobs were submitted.
    pub used: i64,
    pub refused: u64,
}

pub fn play(jobs: &[Job], span: i64, scheduler: &mut impl Scheduler) -> Outcome {
    // Each pass looks at the waiting jobs, so no plan is ever given up.
    let mut moment = KnownJobs {
        now: Seconds(0),
        ends: HashMap::new(),
        expected: HashMap::new(),
        patience: Duration::MAX,
    };
    let mut outcome = Outcome::default();
    let mut queue: Vec<&Job> = Vec::new();
    // The end of each running job, and its place in `jobs`.
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

/// Tries the waiting jobs, the oldest first. Returns the jobs that start.
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
