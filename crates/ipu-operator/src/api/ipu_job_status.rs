//! The status of an IPUJob. The decisions in it are what the operator knows after a restart.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened to an IPUJob so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IpuJobStatus {
    /// Pending, Running, Restarting, Completed or Failed. Jobs without a launcher have it too.
    #[serde(default = "pending")]
    pub launcher_status: String,
    /// Instances whose Pods all run.
    #[serde(default)]
    pub current_replicas: i32,
    /// Instances that the job is to have.
    pub desired_replicas: i32,
    /// What the job waits for, or how it ended.
    pub last_message: String,
    /// Selector of its workers, for autoscalers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// Its history, one condition a type.
    #[serde(default)]
    pub conditions: Vec<JobCondition>,
    /// Its workers by phase.
    #[serde(default)]
    pub workers_status: WorkersStatus,
    /// Whether each instance has its partition.
    #[serde(default, rename = "iPUPartitionCreated")]
    pub ipu_partition_created: bool,
    /// Restarts of the job so far.
    #[serde(default)]
    pub restart_count: i32,
    /// The time at which an instance had IPUs first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// The time of the last change here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reconcile_time: Option<Time>,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Each instance.
    #[serde(default)]
    pub instances: Vec<InstanceStatus>,
}

/// Workers by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersStatus {
    /// Pending or running.
    pub active: i32,
    /// Ended with exit code 0.
    pub succeeded: i32,
    /// Ended otherwise.
    pub failed: i32,
}

/// One instance of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Its number in the job, from 0.
    pub instance: u32,
    /// What it is doing.
    pub state: InstanceState,
    /// Its id on the controller, while it has a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The tries before this one: restarts, and tries whose Pods could not start.
    #[serde(default)]
    pub run: u32,
    /// How its last run ended. None while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Why, or what it waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when its Pods are being started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_since: Option<Time>,
    /// Tries in a row whose Pods could not start.
    #[serde(default)]
    pub blocked_tries: u32,
    /// The time before which it asks for no IPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
    /// Since when all its Pods run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Time>,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
}

/// What an instance is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstanceState {
    /// It waits for its partition.
    #[default]
    Waiting,
    /// Its Pods are being started.
    Starting,
    /// All its Pods run.
    Running,
    /// A run has ended, and the next one follows.
    Restarting,
    /// It has ended.
    Ended,
    /// The job is to have fewer instances, and this one goes.
    Leaving,
}

/// The end of an instance, or of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Outcome {
    /// Its program ended with exit code 0, or its session with its time.
    Succeeded,
    /// Otherwise.
    Failed,
}

/// A condition in the form of Kubeflow's operators, which kubectl wait understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCondition {
    /// Created, Pending, Running, Restarting, Succeeded or Failed
    #[serde(rename = "type")]
    pub kind: String,
    /// True or False
    pub status: String,
    /// IPUJob with the type, or the reason of a failure
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// The time of the last change of the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// The types of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionType {
    /// The operator knows the job.
    Created,
    /// An instance waits for IPUs or Pods.
    Pending,
    /// All instances run.
    Running,
    /// A run is being repeated.
    Restarting,
    /// The job has ended well.
    Succeeded,
    /// The job has failed.
    Failed,
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

fn pending() -> String {
    "Pending".to_owned()
}
