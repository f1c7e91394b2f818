//! What jobs wait for, and in which order.

use std::cmp::Reverse;
use std::collections::HashMap;

use vipu_types::{IpuCount, ModelName};

/// A point in time, in seconds since the Unix epoch, as Slurm counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(pub i64);

/// Slurm's order of jobs: who is greater goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// Whether the job asks for an advance reservation.
    pub reserved: bool,
    /// PriorityTier of the Slurm partition in which the job was looked at.
    pub tier: u16,
    /// The job's priority.
    pub priority: u32,
    /// The job; the older one goes first.
    pub job: Reverse<u32>,
}

/// What one job would like to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The Pod model.
    pub model: ModelName,
    /// The size of the partition.
    pub size: IpuCount,
    /// Its place in line, with the job's id.
    pub rank: Rank,
    /// The longest it can take, in seconds.
    pub duration: i64,
}

impl Wish {
    /// The job.
    #[must_use]
    pub fn job(&self) -> u32 {
        self.rank.job.0
    }
}

/// A wish that others have to respect.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) wish: Wish,
    /// The earliest start as far as nodes, and all else but IPUs, are concerned.
    pub(crate) not_before: Seconds,
    /// When the job was looked at last.
    pub(crate) seen: Seconds,
    /// When it had this rank last.
    pub(crate) ranked: Seconds,
    /// The start that the scheduler was told at the last look, if that told one.
    pub(crate) told: Option<Seconds>,
    /// The job that this one has to let start first: until then it may be put where that one needs it.
    pub(crate) behind: Option<u32>,
}

impl Plan {
    /// A scheduler that expects the job later than it was told knows why.
    pub(crate) fn mind_expectation(&mut self, jobs: &impl Jobs) {
        let expected = jobs.expected(self.wish.job());
        if let Some(expected) = expected.filter(|expected| self.told.is_some_and(|told| *expected > told)) {
            self.not_before = self.not_before.max(expected);
        }
    }
}

/// What is known of jobs at one moment. The ledger asks only for jobs of its claims and plans.
pub trait Jobs {
    /// The present time.
    fn now(&self) -> Seconds;
    /// When a running job will have ended at the latest; `None` when nobody knows, such as for one that is gone.
    fn end_of(&self, job: u32) -> Option<Seconds>;
    /// Whether the job is still in line: pending and not held.
    fn waits(&self, job: u32) -> bool;
    /// When the scheduler expects a waiting job to start, if it has said so since it last looked. It may know more
    /// than it asked for, such as an advance reservation that has to end first.
    fn expected(&self, job: u32) -> Option<Seconds>;
    /// After how many seconds without a look at its job a plan is given up.
    fn patience(&self) -> i64;
    /// Whose it is; all are one user's where nobody knows.
    fn user_of(&self, _job: u32) -> u32 {
        0
    }
}

/// [`Jobs`] where there is no Slurm to ask, as in a simulation: those that are not known to run wait.
#[derive(Clone, Debug)]
pub struct KnownJobs {
    /// The present time.
    pub now: Seconds,
    /// When the running jobs will have ended at the latest.
    pub ends: HashMap<u32, Seconds>,
    /// When the scheduler expects those to start of which it has said so.
    pub expected: HashMap<u32, Seconds>,
    /// After how many seconds without a look at its job a plan is given up.
    pub patience: i64,
}

impl Jobs for KnownJobs {
    fn now(&self) -> Seconds {
        self.now
    }

    fn end_of(&self, job: u32) -> Option<Seconds> {
        self.ends.get(&job).copied()
    }

    fn waits(&self, job: u32) -> bool {
        !self.ends.contains_key(&job)
    }

    fn expected(&self, job: u32) -> Option<Seconds> {
        self.expected.get(&job).copied()
    }

    fn patience(&self) -> i64 {
        self.patience
    }
}
