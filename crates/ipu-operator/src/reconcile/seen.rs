//! The facts of one job that a plan is made from.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::pod_facts::PodFacts;
use super::support::Support;
use crate::api::IpuJob;

/// The facts of one job, at one time.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The object. None if it is gone, and Pods or partitions of it are left.
    pub job: Option<IpuJob>,
    /// Its Pods, found by the label with the job's UID.
    pub pods: Vec<PodFacts>,
    /// Whether the Pods were read from the API server for this plan, not from a cache. What frees IPUs is decided
    /// on such Pods alone.
    pub is_fresh: bool,
    /// Its partitions, by instance, as the ledger has them.
    pub partitions: BTreeMap<u32, Partition>,
    /// Pods that the API server refused to create, with its words.
    pub refused_pods: BTreeMap<String, String>,
    /// The objects beside the launcher, as they are.
    pub support: BTreeMap<Support, Value>,
    /// The time. A plan is made from whole seconds.
    pub now: Timestamp,
}

/// An instance's partition, as the ledger has it. An instance that wants no IPUs has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partition {
    /// It waits for free IPUs, or for the controller.
    Waiting {
        /// What it waits for, in words for users.
        reason: String,
    },
    /// It is being made, or reset.
    Creating,
    /// It can be used.
    Ready(ReadyPartition),
    /// It cannot be used any more. The IPUs are still its own.
    Broken {
        /// Why, in words for users.
        reason: String,
    },
    /// It is being removed. Its IPUs are not free yet.
    Ending,
}

/// A partition that can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyPartition {
    /// Its id on the controller.
    pub id: String,
    /// The run of the instance that it was made or reset for.
    pub run: u32,
    /// Host of the controller.
    pub host: String,
    /// Port of the controller's user API.
    pub port: u16,
    /// Labels of the nodes from which its IPUs can be reached.
    pub node_labels: BTreeMap<String, String>,
}

/// What the operator's configuration says about Pods and times.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The operator's image, for the launcher's init container.
    pub image: String,
    /// Whether Pods use the network of their node, unless their template says otherwise.
    pub host_network: bool,
    /// Whether a finished job keeps its IPUs and its running Pods unless its clean policy is All, as with the vendor's
    /// operator.
    pub finished_jobs_keep_ipus: bool,
    /// Seconds for which IPUs wait for Pods to run.
    pub start_patience: i64,
    /// Seconds for which IPUs wait for Pods that the API server refuses.
    pub refused_patience: i64,
    /// Seconds until an instance asks for IPUs again whose Pods could not run. Doubles with each try.
    pub pause: i64,
    /// The longest of these pauses, in seconds.
    pub longest_pause: i64,
    /// Seconds for which a deleted job waits for its partitions. The journal keeps them after that.
    pub deletion_patience: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            image: "ipu-operator".to_owned(),
            host_network: true,
            finished_jobs_keep_ipus: false,
            start_patience: 1800,
            refused_patience: 60,
            pause: 60,
            longest_pause: 3600,
            deletion_patience: 600,
        }
    }
}

impl Seen {
    /// The Pods of an instance, of all runs.
    pub(super) fn pods_of(&self, instance: u32) -> impl Iterator<Item = &PodFacts> {
        self.pods.iter().filter(move |pod| pod.instance == instance)
    }

    /// Whether no container of an instance runs or can start, in any run.
    pub(super) fn is_quiet(&self, instance: u32) -> bool {
        self.pods_of(instance).all(PodFacts::is_over)
    }

    /// The partition that is ready for a run of an instance.
    pub(super) fn ready(&self, instance: u32, run: u32) -> Option<&ReadyPartition> {
        match self.partitions.get(&instance) {
            Some(Partition::Ready(ready)) if ready.run == run => Some(ready),
            _ => None,
        }
    }
}
