//! The kind IPUJob as users write it. Manifests for versions 1.0 to 1.2 of the vendor's operator are valid.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ipu_job_status::IpuJobStatus;
use super::schema::{kept_object, variables};

/// A job that runs on IPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, kube::CustomResource, KubeSchema)]
#[kube(
    group = "graphcore.ai",
    version = "v1alpha1",
    kind = "IPUJob",
    root = "IpuJob",
    plural = "ipujobs",
    singular = "ipujob",
    shortname = "ipuj",
    category = "all",
    namespaced,
    status = "IpuJobStatus",
    derive = "PartialEq",
    derive = "Default",
    scale(
        spec_replicas_path = ".spec.jobInstances",
        status_replicas_path = ".status.currentReplicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "status", type_ = "string", json_path = ".status.launcherStatus"),
    printcolumn(name = "current", type_ = "integer", json_path = ".status.currentReplicas"),
    printcolumn(name = "desired", type_ = "integer", json_path = ".status.desiredReplicas"),
    printcolumn(name = "LastMessage", type_ = "string", json_path = ".status.lastMessage"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = kube::core::Rule::new("self.metadata.name.size() <= 50")
        .message("metadata.name: at most 50 characters, as the names of Pods add to it"),
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = kube::core::Rule::new("self.jobInstances >= 1")
        .message("jobInstances: a job has at least 1 instance"),
    validation = kube::core::Rule::new(
        "has(self.ipusPerJobInstance) || (has(self.modelReplicas) && has(self.ipusPerModelReplica))"
    )
    .message("ipusPerJobInstance is missing: add the number of IPUs of an instance, as in \"4\""),
    validation = kube::core::Rule::new(
        "!has(self.ipusPerJobInstance) || int(self.ipusPerJobInstance) in \
         [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]"
    )
    .message("ipusPerJobInstance: a partition has 1, 2, 4, 8, 16 ... IPUs"),
    validation = kube::core::Rule::new(
        "!has(self.workersPerJobInstance) || int(self.workersPerJobInstance) >= 1"
    )
    .message("workersPerJobInstance: write a whole number above 0"),
    validation = kube::core::Rule::new("!(has(self.launcher) && has(self.interactive))")
        .message("launcher and interactive exclude each other: remove one"),
    validation = kube::core::Rule::new("!has(self.interactive) || self.interactive.ttl >= 1")
        .message("interactive.ttl: a session lasts at least 1 second"),
    validation = kube::core::Rule::new(
        "has(self.ipusPerJobInstance) == has(oldSelf.ipusPerJobInstance) && \
         (!has(self.ipusPerJobInstance) || int(self.ipusPerJobInstance) == int(oldSelf.ipusPerJobInstance))"
    )
    .message("ipusPerJobInstance cannot change: delete the job, and create it anew"),
)]
pub struct IpuJobSpec {
    /// Number of independent instances. Each has a partition of its own.
    pub job_instances: i32,
    /// Number of IPUs of each instance: a power of two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipus_per_job_instance: Option<IntOrString>,
    /// Number of workers of each instance. Each worker has a graph compilation domain (GCD) of its own. Default: 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers_per_job_instance: Option<IntOrString>,
    /// Deprecated: an earlier spelling of workersPerJobInstance
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_per_job_instance: Option<IntOrString>,
    /// Number of replicas in each worker. Default: 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_replicas_per_worker: Option<IntOrString>,
    /// Deprecated: number of replicas of an instance. Its IPUs are modelReplicas times ipusPerModelReplica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_replicas: Option<IntOrString>,
    /// Deprecated: number of IPUs of each replica, beside modelReplicas
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipus_per_model_replica: Option<IntOrString>,
    /// Makes an MPI job: its command runs in a Pod beside the workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launcher: Option<Launcher>,
    /// Makes a session: a launcher that runs nothing, for kubectl exec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive: Option<Interactive>,
    /// The Pods that use the IPUs.
    pub workers: Workers,
    /// The Pods that go when the job has ended. Its IPUs become free in any case.
    #[serde(default)]
    pub clean_pod_policy: CleanPodPolicy,
    /// Whether a run that has ended begins again.
    #[serde(default)]
    pub restart_policy: RestartPolicy,
    /// Time in seconds for which a failed job keeps its IPUs and its Pods, for a look at them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub keep_partition_seconds: Option<i64>,
    /// Longest run of the job in seconds, from the first time that it has IPUs. It fails then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub active_deadline_seconds: Option<i64>,
    /// Time in seconds from the end of the job until it is deleted. It stays without this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i64>,
}

/// The launcher of an MPI job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Launcher {
    /// The line that starts the program in the workers, such as mpirun or poprun. It runs in the workers' image.
    pub command: Vec<String>,
    /// Variables of the launcher alone, as in a container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "variables")]
    pub env: Vec<Value>,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interactive {
    /// Length of the session in seconds. The job is completed then.
    pub ttl: i32,
}

/// The workers of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// Number of workers of each instance, if workersPerJobInstance does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub replicas: Option<i32>,
    /// Accepted for earlier manifests. A changed template counts for Pods that are created later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Template of the workers: metadata, and a spec of any release of Kubernetes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "kept_object")]
    pub template: Map<String, Value>,
}

/// How workers are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// RollingUpdate or Recreate
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Bounds of a rolling update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

/// Bounds of a rolling update, as numbers or percentages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Workers above the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Workers that may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// The Pods that go when the job has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CleanPodPolicy {
    /// Pods that have ended stay. Those that still run end, as they would hold IPUs.
    #[default]
    None,
    /// All Pods go, and the job never restarts.
    All,
    /// The workers go.
    Workers,
}

/// Whether a run that has ended begins again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartPolicy {
    /// After which ends a run begins again.
    #[serde(rename = "type")]
    pub kind: RestartType,
    /// Most restarts of the job.
    #[serde(default = "back_off_limit")]
    pub back_off_limit: i32,
    /// Exit codes after which the job restarts, with type ExitCode: 130,143-150. Default: 128-255
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([0-9]+(-[0-9]+)?)(,([0-9]+(-[0-9]+)?))*$"))]
    pub exit_codes: Option<String>,
}

/// After which ends a run begins again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RestartType {
    /// After each end, success too.
    Always,
    /// After a failure.
    OnFailure,
    /// Never.
    #[default]
    Never,
    /// After a failure with one of the exit codes, or without an exit code, as when a node is lost.
    ExitCode,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self { kind: RestartType::default(), back_off_limit: back_off_limit(), exit_codes: None }
    }
}

fn back_off_limit() -> i32 {
    3
}
