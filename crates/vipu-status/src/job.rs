//! A job, and its place in line while it waits for IPUs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Place;

// slurmctld's jobs with equal texts share them: thousands of jobs may have few different names.
/// A job, as Slurm's commands name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Job {
    /// Slurm's job id.
    pub id: u32,
    /// The id of the job's array and the number of the task in it, for example 17 and 3 for `17_3`.
    pub array: Option<(u32, u32)>,
    /// The id of the heterogeneous job and the number of the component in it, for example 17 and 1 for
    /// `17+1`.
    pub component: Option<(u32, u32)>,
    /// The name of the job.
    pub name: Option<Arc<str>>,
    /// The numeric id of its user.
    pub user: u32,
    /// The name of its user. svipu adds it to its JSON: slurmctld looks no names up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_name: Option<Arc<str>>,
    /// The Slurm partition in which it runs or was last tried.
    pub slurm_partition: Option<Arc<str>>,
    /// The name of its QOS. None without accounting.
    #[serde(default)]
    pub qos: Option<Arc<str>>,
}

/// A job that waits for IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WaitingJob {
    /// A number that names it in all documents of one writer.
    pub key: u64,
    /// The job. None if the reader may not know it.
    pub job: Option<Arc<Job>>,
    /// The Pod model.
    pub model: Arc<str>,
    /// The IPUs that it wants.
    pub size: u32,
    /// The tasks of a job array that wait in this place, one behind the other. 1 for other jobs.
    #[serde(default = "one")]
    pub tasks: u32,
    /// Its place in line.
    pub rank: Rank,
    /// The longest time that it may run, in seconds. A year or more: it has no time limit.
    pub duration: u64,
    /// The controllers whose nodes it may use. Empty: all of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<String>,
    /// The earliest start as far as nodes and other needs are concerned, without the IPUs.
    pub not_before: i64,
    /// The key of the job that has to start before this one.
    pub behind: Option<u64>,
    /// The reason why it waits, as squeue shows it.
    pub reason: Option<Arc<str>>,
    /// The forecast of its start, as far as IPUs are concerned. None if it is unknown, if the planned IPUs are
    /// those of jobs without a time limit, or if the job is far back in line.
    pub start: Option<i64>,
    /// The controller on which it is planned to start. None if it is unknown.
    pub planned_controller: Option<String>,
    /// The places on which it is planned to start. Empty if they are unknown.
    pub planned_places: Vec<Place>,
}

/// The place of a job in line. Slurm looks at greater ranks first, and at older jobs of equal ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rank {
    /// Whether the job asks for an advance reservation.
    pub in_reservation: bool,
    /// PriorityTier of its Slurm partition.
    pub tier: u16,
    /// The job's priority.
    pub priority: u32,
}

impl WaitingJob {
    /// Leaves out its owner: job, and words that may name one.
    pub(crate) fn leave_out_owner(&mut self) {
        (self.job, self.reason) = (None, None);
    }
}

const fn one() -> u32 {
    1
}
