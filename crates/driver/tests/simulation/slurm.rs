//! Slurm, as far as it matters here: jobs, their states, their gates, and what is saved of them.

use std::collections::BTreeMap;
use std::time::Duration;

use ledger::{Claim, Jobs, Rank, Seconds, Wish};
use tokio::time::Instant;
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId};

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    /// Pending, until somebody releases it.
    Held,
    /// It has its nodes, and its launch gate is raised.
    Configuring,
    Running,
    /// Its nodes are being cleaned, and then this.
    Completing(Next),
}

/// What comes after a job's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Over,
    Pending,
    Held,
}

/// One job.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: u32,
    pub user: u32,
    pub is_batch: bool,
    pub model: ModelName,
    pub size: IpuCount,
    /// How long it runs.
    pub length: Duration,
    pub state: State,
    pub since: Instant,
    /// How often it was requeued.
    pub restart: u16,
    /// When it was given its nodes, in seconds.
    pub start: i64,
    /// It is not to start before that.
    pub begin: Instant,
    /// When its tasks end by themselves, once they run.
    pub ends: Instant,
    /// When its nodes are done with it, once it is completing.
    pub nodes_done: Instant,
    /// What it was given last.
    pub given: Option<Claim>,
    /// The run that its partition was made for: it may have been a waiting one.
    pub made_for: Option<JobRun>,
    /// The gates raised, each with the run it was raised for.
    pub launch: Vec<JobRun>,
    pub completion: Vec<JobRun>,
    /// Until when its partition stays, in seconds, if it failed and that is asked for.
    pub keep_until: Option<i64>,
}

impl Job {
    /// How long its partition stays if it fails, in seconds: some jobs ask for that.
    pub fn keep(&self) -> Option<i64> {
        self.id.is_multiple_of(4).then_some(i64::from(self.id % 16))
    }

    /// The run that the record speaks of. A requeue counts before the run that it ends has let go of its partition.
    pub fn run(&self) -> JobRun {
        let requeued = matches!(self.state, State::Completing(Next::Pending | Next::Held));
        JobRun { job: self.id, restart: self.restart - u16::from(requeued), start: self.start }
    }

    /// Whether it was given this partition, which was made for this run.
    pub fn has(&self, partition: &PartitionId, run: JobRun) -> bool {
        let is_given = self.given.as_ref().is_some_and(|claim| claim.partition == *partition);
        is_given && self.made_for == Some(run)
    }

    pub fn enter(&mut self, state: State) {
        (self.state, self.since) = (state, Instant::now());
    }

    /// What the scheduler asks for.
    pub fn wish(&self) -> Wish {
        let rank = Rank { reserved: false, tier: 1, priority: 1000, job: std::cmp::Reverse(self.id) };
        Wish {
            model: self.model.clone(),
            size: self.size,
            rank,
            duration: self.length + Duration::from_secs(1),
        }
    }
}

/// What slurmctld saves.
#[derive(Clone, Debug)]
pub struct Slurm {
    pub jobs: BTreeMap<u32, Job>,
    pub next_id: u32,
}

impl Slurm {
    /// Takes on a job, and says its id.
    pub fn submit(
        &mut self,
        user: u32,
        is_batch: bool,
        (model, size): (ModelName, IpuCount),
        length: Duration,
    ) -> u32 {
        let (id, now) = (self.next_id, Instant::now());
        self.next_id += 1;
        let job = Job {
            id,
            user,
            is_batch,
            model,
            size,
            length,
            state: State::Pending,
            since: now,
            restart: 0,
            start: 0,
            begin: now,
            ends: now,
            nodes_done: now,
            given: None,
            made_for: None,
            launch: Vec::new(),
            completion: Vec::new(),
            keep_until: None,
        };
        self.jobs.insert(id, job);
        id
    }

    /// The job, if this is its present run.
    pub fn at(&mut self, run: JobRun) -> Option<&mut Job> {
        self.jobs.get_mut(&run.job).filter(|job| job.run() == run)
    }

    /// Makes of an older state that was saved what a slurmctld that reads it finds: tasks that ended since then are
    /// found not to run, and gates are not saved.
    pub fn restored(mut self, truth: &Self) -> Self {
        let now = Instant::now();
        for job in self.jobs.values_mut() {
            job.launch.clear();
            job.completion.clear();
            job.since = now;
            let runs = truth.jobs.get(&job.id).filter(|there| there.run() == job.run());
            if job.state == State::Running && runs.is_none_or(|there| there.state != State::Running) {
                job.ends = now + Duration::from_secs(5);
            }
        }
        self
    }
}

/// The questions of the ledger about jobs.
pub struct Known<'a> {
    pub slurm: &'a Slurm,
    pub now: i64,
}

impl Jobs for Known<'_> {
    fn now(&self) -> Seconds {
        Seconds(self.now)
    }

    fn end_of(&self, job: u32) -> Option<Seconds> {
        let job = self.slurm.jobs.get(&job)?;
        match job.state {
            State::Configuring | State::Running => Some(Seconds(job.start).later_by(job.wish().duration)),
            // It has a partition already, and runs for so long from any moment on.
            State::Pending => Some(Seconds(self.now).later_by(job.wish().duration)),
            State::Held | State::Completing(_) => None,
        }
    }

    fn waits(&self, job: u32) -> bool {
        self.slurm.jobs.get(&job).is_some_and(|job| job.state == State::Pending)
    }

    fn expected(&self, _: u32) -> Option<Seconds> {
        None
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}
