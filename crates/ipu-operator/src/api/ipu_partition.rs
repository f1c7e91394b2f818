//! The kind IPUPartition: the operator's journal, one object for each partition.
#![allow(clippy::duplicated_attributes, reason = "several columns have one type")]

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::schema::kept_object;

/// A partition that the operator asked a V-IPU controller for. The operator writes the object before the create
/// call, and removes it once the controller says that the partition is gone. Deleting it frees no IPUs.
///
/// All is in the spec, as one write must record all of an entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "graphcore.ai",
    version = "v1alpha1",
    kind = "IPUPartition",
    root = "IpuPartition",
    plural = "ipupartitions",
    singular = "ipupartition",
    shortname = "ipup",
    derive = "PartialEq",
    printcolumn(name = "partition", type_ = "string", json_path = ".spec.partition"),
    printcolumn(name = "size", type_ = "integer", json_path = ".spec.ipus"),
    printcolumn(name = "controller", type_ = "string", json_path = ".spec.controller"),
    printcolumn(name = "state", type_ = "string", json_path = ".spec.state"),
    printcolumn(name = "namespace", type_ = "string", json_path = ".spec.ipuJob.namespace"),
    printcolumn(name = "IPUJob", type_ = "string", json_path = ".spec.ipuJob.name"),
    printcolumn(name = "instance", type_ = "integer", json_path = ".spec.instance", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IpuPartitionSpec {
    /// Its id on the controller.
    pub partition: String,
    /// Number of its IPUs.
    pub ipus: u32,
    /// The controller, as host:port.
    pub controller: String,
    /// What is being done with it: Creating, Ready, Kept, Removing.
    pub state: String,
    /// The job that it is for. The job may be gone.
    pub ipu_job: IpuJobReference,
    /// The instance of the job.
    pub instance: u32,
    /// The instance's number in the operator. Later instances have higher numbers.
    pub number: u32,
    /// The operator's epoch that wrote this. A later leader raises it, and writes of an earlier one fail.
    pub epoch: i64,
    /// The entry of the journal, as the operator reads it.
    #[serde(default)]
    #[schemars(schema_with = "kept_object")]
    pub entry: Map<String, Value>,
}

/// A job by its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpuJobReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, as another job may have the name later.
    pub uid: String,
}
