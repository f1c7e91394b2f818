//! The identity of a job.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

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
    /// The Slurm partition in which it runs or was last tried.
    pub slurm_partition: Option<Arc<str>>,
    /// The name of its QOS. None without accounting.
    #[serde(default)]
    pub qos: Option<Arc<str>>,
}
