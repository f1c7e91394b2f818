//! A simulated Slurm with enough nodes. Jobs are submitted, are tried in order of age, start and end.
//!
//! This is the fake Slurm at the level of the scheduler alone, without records, gates and restarts: for the waits of a
//! year of jobs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use ledger::{KnownJobs, Seconds, WholeTimes};

use crate::Job;

/// The most waiting jobs that one pass tries, as in backfill (`bf_max_job_test`).
const DEPTH: usize = 500;

/// A policy in action: it says which jobs may start.
pub trait Scheduler {
    /// Begins a pass, which tries waiting jobs, the oldest first.
    fn begin_pass(&mut self, _moment: &KnownJobs) {}

    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict;

    fn end(&mut self, job: &Job);

    /// The next time at which a partition is made, reset or removed.
    fn next_answer(&self) -> Option<i64> {
        None
    }

    /// Whether more jobs may start than at the last pass, apart from new ones.
    fn has_news(&mut self) -> bool {
        true
    }

    /// Lets the time come to `now`. Returns the jobs that got their partitions since the last call.
    fn advance(&mut self, _now: i64) -> Vec<Launched> {
        Vec::new()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The job runs.
    Starts,
    /// The job has its nodes, and its partition is being made. [`Scheduler::advance`] tells its launch.
    Begins,
    Waits,
    /// The job may start, but the controller had no room for its partition. The job goes back into the line.
    Refused,
}

/// A job that got its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    pub job: u32,
    /// See [`Waited::own_delay`].
    pub own_delay: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub job: u32,
    pub size: u32,
    /// Seconds from its submission until it has its partition.
    pub seconds: i64,
    /// The seconds by which the job would have had its partition earlier if each partition had been removed at
    /// the end of its job. Negative if later.
    pub own_delay: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub waited: Vec<Waited>,
    /// IPU seconds used while jobs were submitted.
    pub used: i64,
    pub refused: u64,
}

/// The jobs that were submitted and have not ended.
struct Cluster<'a> {
    jobs: &'a [Job],
    span: i64,
    queue: Vec<&'a Job>,
    /// The end of each running job, and its place in `jobs`.
    running: BinaryHeap<Reverse<(i64, usize)>>,
    moment: KnownJobs,
    outcome: Outcome,
}

/// Plays the jobs. Their ids are 1, 2, 3 ...
pub fn play(jobs: &[Job], span: i64, scheduler: &mut impl Scheduler) -> Outcome {
    // Each pass looks at the waiting jobs, so no plan is ever given up.
    let moment = KnownJobs {
        now: Seconds(0),
        ends: HashMap::new(),
        expected: HashMap::new(),
        patience: Duration::MAX,
        whole_times: WholeTimes::default(),
    };
    let (queue, running, outcome) = (Vec::new(), BinaryHeap::new(), Outcome::default());
    let mut cluster = Cluster { jobs, span, queue, running, moment, outcome };
    let mut submitted = 0;
    loop {
        let next_submit = jobs.get(submitted).map(|job| job.submitted);
        let next_end = cluster.running.peek().map(|Reverse((end, _))| *end);
        let next = next_submit.into_iter().chain(next_end).chain(scheduler.next_answer()).min();
        let Some(now) = next else { break };
        cluster.moment.now = Seconds(now);
        cluster.launch(scheduler.advance(now));
        while let Some(number) = cluster.ended(now) {
            cluster.moment.ends.remove(&jobs[number].id);
            scheduler.end(&jobs[number]);
        }
        let before = submitted;
        while let Some(job) = jobs.get(submitted).filter(|job| job.submitted <= now) {
            cluster.queue.push(job);
            submitted += 1;
        }
        if scheduler.has_news() || submitted > before {
            cluster.pass(scheduler);
            cluster.launch(scheduler.advance(now));
        }
    }
    let Cluster { queue, outcome, .. } = cluster;
    assert!(queue.is_empty(), "{} jobs never start", queue.len());
    assert_eq!(outcome.waited.len(), jobs.len(), "each job that starts gets its partition");
    outcome
}

impl Cluster<'_> {
    /// Tries the waiting jobs, the oldest first.
    fn pass(&mut self, scheduler: &mut impl Scheduler) {
        scheduler.begin_pass(&self.moment);
        let (mut tried, mut started) = (0, Vec::new());
        let Self { queue, moment, outcome, .. } = self;
        queue.retain(|job| {
            tried += 1;
            let verdict = if tried <= DEPTH { scheduler.start(job, moment) } else { Verdict::Waits };
            if matches!(verdict, Verdict::Starts | Verdict::Begins) {
                moment.ends.insert(job.id, Seconds(moment.now.0 + job.limit));
            }
            if verdict == Verdict::Starts {
                started.push(Launched { job: job.id, own_delay: 0 });
            }
            outcome.refused += u64::from(verdict == Verdict::Refused);
            matches!(verdict, Verdict::Waits | Verdict::Refused)
        });
        self.launch(started);
    }

    /// Jobs begin to run. Their limits count from now.
    fn launch(&mut self, launched: Vec<Launched>) {
        let now = self.moment.now.0;
        for Launched { job: id, own_delay } in launched {
            let number = id as usize - 1;
            let Job { submitted, size, duration, limit, .. } = self.jobs[number];
            self.moment.ends.insert(id, Seconds(now + limit));
            self.running.push(Reverse((now + duration, number)));
            self.outcome.waited.push(Waited { job: id, size, seconds: now - submitted, own_delay });
            self.outcome.used += i64::from(size) * ((now + duration).min(self.span) - now).max(0);
        }
    }

    /// Takes out a job that has ended by now.
    fn ended(&mut self, now: i64) -> Option<usize> {
        let Reverse((end, number)) = *self.running.peek()?;
        (end <= now).then(|| {
            self.running.pop();
            number
        })
    }
}
