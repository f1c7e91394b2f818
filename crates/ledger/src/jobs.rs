//! What the ledger asks about Slurm's jobs.

use std::collections::HashMap;
use std::time::Duration;

use crate::Seconds;

/// What is known of jobs at one moment. The ledger asks only for jobs of its claims and plans.
pub trait Jobs {
    /// The present time.
    fn now(&self) -> Seconds;
    /// When a running job will have ended at the latest; `None` when nobody knows, such as for one that is
    /// gone.
    fn end_of(&self, job: u32) -> Option<Seconds>;
    /// Whether the job is still in line: pending and not held.
    fn waits(&self, job: u32) -> bool;
    /// When the scheduler expects a waiting job to start, if it has said so since it last looked. It may know
    /// more than it asked for, such as an advance reservation that has to end first.
    fn expected(&self, job: u32) -> Option<Seconds>;
    /// After how long without a look at its job a plan is given up.
    fn patience(&self) -> Duration;
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
    /// After how long without a look at its job a plan is given up.
    pub patience: Duration,
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

    fn patience(&self) -> Duration {
        self.patience
    }
}
