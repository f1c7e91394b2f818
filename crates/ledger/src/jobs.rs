//! The ledger's questions about Slurm's jobs, and about reservations of the licence that counts a model's IPUs.

use std::collections::HashMap;
use std::time::Duration;

use vipu_types::ModelName;

use crate::{Seconds, WholeTimes};

/// The facts about jobs at one moment. The ledger asks only about jobs of its claims and plans.
pub trait Jobs {
    /// The present time.
    fn now(&self) -> Seconds;
    /// The latest end of a running job. `None` if it is unknown, for example because the job is gone.
    fn end_of(&self, job: u32) -> Option<Seconds>;
    /// Whether the job is still in line: pending and not held.
    fn waits(&self, job: u32) -> bool;
    /// The start of a waiting job that the scheduler expects, if it has given one since it last looked. The
    /// scheduler may know more than it asked for, for example an advance reservation that has to end first.
    fn expected(&self, job: u32) -> Option<Seconds>;
    /// The time without a look at its job after which a plan is given up.
    fn patience(&self) -> Duration;
    /// The reservations of the licence that counts a model's IPUs.
    fn license_reservations(&self, _model: &ModelName) -> LicenseReservations {
        LicenseReservations::default()
    }
    /// The times in which only the largest jobs of a model run.
    fn whole_times(&self, _model: &ModelName) -> WholeTimes {
        WholeTimes::default()
    }
    /// The user of the job. Without this knowledge all jobs are of one user.
    fn user_of(&self, _job: u32) -> u32 {
        0
    }
}

/// A time in which a reservation keeps IPUs free for its own jobs: a number of IPUs, not a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LicenseReservation {
    /// The start.
    pub from: Seconds,
    /// The end.
    pub until: Seconds,
    /// The number of IPUs.
    pub ipus: u32,
}

/// The reservations of one model's licence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LicenseReservations {
    /// The number of the licence that the cluster has.
    pub total: u32,
    /// The reservations. None if the model has no licence, too.
    pub reserved: Vec<LicenseReservation>,
}

/// [`Jobs`] without a Slurm to ask, as in a simulation. Jobs that are not known to run count as waiting.
#[derive(Clone, Debug, Default)]
pub struct KnownJobs {
    /// The present time.
    pub now: Seconds,
    /// The latest ends of the running jobs.
    pub ends: HashMap<u32, Seconds>,
    /// The expected starts that the scheduler has given.
    pub expected: HashMap<u32, Seconds>,
    /// The time without a look at its job after which a plan is given up.
    pub patience: Duration,
    /// The times in which only the largest jobs run, the same for all models.
    pub whole_times: WholeTimes,
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

    fn whole_times(&self, _model: &ModelName) -> WholeTimes {
        self.whole_times.clone()
    }
}
