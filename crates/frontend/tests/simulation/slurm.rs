//! Slurm, as far as it matters here: jobs with their states and gates, and the state that is saved.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use vipu_types::{Grant, IpuCount, JobOption, JobRun, ModelName, PartitionId, RunEnd};

use crate::pool;

/// The only node of a job.
pub fn node_of(job: u32) -> String {
    format!("node{job}")
}

/// The job of a node.
pub fn job_of(node: &str) -> u32 {
    node.trim_start_matches("node").parse().unwrap()
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    /// Pending and held, until an administrator releases it.
    Held,
    /// The job has its nodes, and its launch gate is raised.
    Configuring,
    Running,
    /// The nodes of the job are being cleaned. Then the next state follows.
    Completing(Next),
}

/// The state after a job's end.
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
    /// The time for which it runs.
    pub length: Duration,
    pub state: State,
    pub since: Instant,
    /// The number of its requeues.
    pub restart: u16,
    /// The time at which it was given its nodes, in seconds.
    pub start: i64,
    /// The time before which it must not start.
    pub begin: Instant,
    /// The time at which its tasks end by themselves, once they run.
    pub ends: Instant,
    /// The time at which its nodes are done with it, once it is completing.
    pub nodes_done: Instant,
    /// Whether the node of its present run was set down.
    pub has_lost_node: bool,
    /// Its environment, which is saved with it.
    pub environment: BTreeMap<String, String>,
    /// The text that squeue shows as the reason.
    pub reason: Option<String>,
    /// Its exit code, once it has ended by itself.
    pub exit_code: Option<u8>,
    /// The number of times that each gate is raised.
    pub launch_gates: u32,
    pub completion_gates: u32,
    /// Whether its allocation has the number of its IPUs in place of Slurm's mark.
    pub is_entered: bool,
}

impl Job {
    /// Whether its tasks fail with exit code 1, if nothing else ends them.
    pub fn fails(&self) -> bool {
        self.id.is_multiple_of(2)
    }

    /// Whether it fails because its time is over.
    pub fn times_out(&self) -> bool {
        self.id % 4 == 2
    }

    /// The way in which it ended.
    pub fn run_end(&self) -> Option<RunEnd> {
        let end = match self.exit_code {
            Some(0) => RunEnd::Completed,
            Some(_) if self.times_out() => RunEnd::Otherwise("TIMEOUT"),
            Some(code) => RunEnd::Failed(code),
            None => RunEnd::Cancelled,
        };
        (self.state == State::Completing(Next::Over)).then_some(end)
    }

    /// Its options, as Slurm keeps them. If they fail, some jobs have their partition kept, and some are
    /// requeued. Some are requeued whenever they end.
    pub fn options(&self) -> Vec<String> {
        let option = |option: JobOption, value: String| format!("{}={value}", option.variable());
        let keep =
            self.id.is_multiple_of(4).then(|| option(JobOption::Keep, format!("{}s", 1 + self.id % 15)));
        let requeue_on = match self.id % 10 {
            // The partition of the run would be withheld, and soon that of all.
            _ if self.model.as_str() == pool::MODEL.0 => None,
            0 => Some("1"),
            5 | 6 => Some("any"),
            _ => None,
        };
        let requeue = requeue_on.map(|ends| option(JobOption::RequeueOn, ends.to_owned()));
        keep.into_iter().chain(requeue).collect()
    }

    /// Its GRES request, as Slurm keeps it.
    pub fn tres(&self) -> String {
        format!("gres:vipu:{}:{}", self.model, self.size)
    }

    /// The grant that it was given last.
    pub fn grant(&self) -> Option<Grant> {
        self.environment.get(&Grant::variable(self.id))?.parse().ok()
    }

    /// Its time limit, in seconds.
    pub fn limit(&self) -> i64 {
        i64::try_from(self.length.as_secs()).unwrap() + 1
    }

    /// The run of the record. Slurm counts a requeue before the run that it ends has released its partition.
    pub fn run(&self) -> JobRun {
        let requeued = matches!(self.state, State::Completing(Next::Pending | Next::Held));
        JobRun { job: self.id, restart: self.restart - u16::from(requeued), start: self.start }
    }

    /// Whether it was given this partition, which was made for this run, or for the job while it waited for
    /// this run.
    pub fn has(&self, partition: &PartitionId, made_for: JobRun) -> bool {
        let is_given = self.grant().is_some_and(|grant| grant.partition == *partition);
        is_given && is_of(self.run(), made_for)
    }

    pub fn enter(&mut self, state: State) {
        (self.state, self.since) = (state, Instant::now());
    }
}

/// Whether a partition made for a run, or for a waiting job, is the partition of this run.
pub fn is_of(run: JobRun, made_for: JobRun) -> bool {
    let is_same_job = (run.job, run.restart) == (made_for.job, made_for.restart);
    is_same_job && (!made_for.has_begun() || made_for.start == run.start)
}

/// The state that slurmctld saves.
#[derive(Clone, Debug)]
pub struct Slurm {
    pub jobs: BTreeMap<u32, Job>,
    pub next_id: u32,
}

impl Slurm {
    /// Submits a job. Returns its id.
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
            has_lost_node: false,
            environment: BTreeMap::new(),
            reason: None,
            exit_code: None,
            launch_gates: 0,
            completion_gates: 0,
            is_entered: false,
        };
        self.jobs.insert(id, job);
        id
    }

    /// The job, if this is its present run.
    pub fn at(&mut self, run: JobRun) -> Option<&mut Job> {
        self.jobs.get_mut(&run.job).filter(|job| job.run() == run)
    }

    /// The state that a new slurmctld reads from an older saved state. Tasks that have ended since are found
    /// not to run. Gates are not saved.
    pub fn restored(mut self, truth: &Self) -> Self {
        let now = Instant::now();
        for job in self.jobs.values_mut() {
            (job.launch_gates, job.completion_gates) = (0, 0);
            job.since = now;
            let runs = truth.jobs.get(&job.id).filter(|there| there.run() == job.run());
            if job.state == State::Running && runs.is_none_or(|there| there.state != State::Running) {
                job.ends = now + Duration::from_secs(5);
            }
        }
        self
    }
}
