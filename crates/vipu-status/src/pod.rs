//! The IPUs of one controller.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A Pod: the IPUs of one controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pod {
    /// Host and port of the controller.
    pub controller: String,
    /// The nodes whose jobs get its IPUs (Nodes), as a host list. Empty: all nodes of the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nodes: String,
    /// Whether the controller answers.
    pub contact: Contact,
    /// The version of the controller, as it told when it last began to answer. None if it does not tell.
    #[serde(default)]
    pub version: Option<String>,
    /// The reason why no partition can be made on it now.
    pub trouble: Option<String>,
    /// Its IPUs.
    pub ipus: Ipus,
    /// The size of the largest partition that fits.
    pub largest_free: u32,
    /// The partitions of its pool, in the order in which their IPUs are numbered. Empty if its model has no pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pool: Vec<PoolBlock>,
    /// The partitions that its pool should have and has not, with the reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
    /// IPUs that no partition of this cluster's jobs has, and that are not free.
    pub others: Vec<OtherIpus>,
    /// The usual time from a create to a ready partition, in seconds. None before the first one.
    #[serde(default)]
    pub usual_create: Option<f64>,
    /// The counters of the controller.
    #[serde(default)]
    pub counters: ControllerCounters,
}

impl Pod {
    /// The places of a partition of its pool, with domains of this size.
    pub(crate) fn places_in_pool(&self, partition: &str, domain_size: u32) -> Vec<Place> {
        let Some(at) = self.pool.iter().position(|block| block.partition == partition) else {
            return Vec::new();
        };
        let first: u32 = self.pool[..at].iter().map(|block| block.size).fold(0, u32::saturating_add);
        let domain = domain_size.max(1);
        let ipus = first..first.saturating_add(self.pool[at].size).min(self.ipus.total);
        ipus.map(|ipu| Place { domain: ipu / domain, index: ipu % domain }).collect()
    }
}

/// The counters of one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControllerCounters {
    /// The calls that ask for a partition, repetitions included.
    pub creates: u64,
    /// The calls that ask for the removal of a partition, repetitions included.
    pub removes: u64,
    /// The calls that reset a partition, repetitions included.
    #[serde(default)]
    pub resets: u64,
    /// The jobs that got an idle partition.
    #[serde(default)]
    pub reuses: u64,
    /// The listings of partitions that were compared with the ledger.
    pub reconciliations: u64,
    /// The calls that failed, by cause.
    pub failures: BTreeMap<String, u64>,
}

/// One partition of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PoolBlock {
    /// Its id. Empty in older documents.
    #[serde(default)]
    pub partition: String,
    /// The number of its IPUs.
    pub size: u32,
    /// Whether a job may have asked for fewer.
    pub reconfigurable: bool,
    /// Its state.
    #[serde(default)]
    pub state: PoolState,
    /// The reason why it is out of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The state of a partition of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PoolState {
    /// It waits for a job.
    #[default]
    Free,
    /// A job has it, or is about to get it.
    Used,
    /// It is being given back after a job, or being reset.
    Returning,
    /// No job gets it.
    OutOfUse,
}

impl PoolState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Free, Self::Used, Self::Returning, Self::OutOfUse];

    /// The name in the document.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Used => "used",
            Self::Returning => "returning",
            Self::OutOfUse => "out_of_use",
        }
    }
}

/// The controller's answer to the last question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Contact {
    /// It has not answered since the plugin was started.
    #[default]
    NotYet,
    /// It answers.
    Reached {
        /// The time of the first of these answers.
        since: i64,
    },
    /// It does not answer, or its answer has no sense.
    Lost {
        /// The time of the first failure.
        since: i64,
        /// The failure in words.
        reason: String,
    },
}

/// The IPUs of a Pod, by use. The uses other than `total` and `idle` add up to `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ipus {
    /// All IPUs.
    pub total: u32,
    /// IPUs that no partition has, or an idle one, and that jobs can get.
    pub free: u32,
    /// The free IPUs that idle partitions have.
    #[serde(default)]
    pub idle: u32,
    /// IPUs that no partition has, and that a drain ([`crate::Status::drains`]) keeps from jobs.
    #[serde(default)]
    pub drained: u32,
    /// IPUs of jobs that run or are about to start.
    pub used: u32,
    /// IPUs of partitions that are made for jobs that have no nodes yet.
    pub prepared: u32,
    /// IPUs of partitions that are kept for failed jobs.
    pub kept: u32,
    /// IPUs of partitions that are being removed, or that cannot be made.
    pub leaving: u32,
    /// IPUs of partitions that are not of this cluster's jobs.
    pub foreign: u32,
    /// IPUs of partitions of the pool that no job can get now.
    #[serde(default)]
    pub out_of_use: u32,
    /// IPUs that the controller says no partition can use.
    pub faulty: u32,
    /// IPUs that no partition gets, because the controller refused without an apparent reason.
    pub suspected: u32,
}

/// The physical place of an IPU: topology ids of the V-IPU API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Place {
    /// The IPU-Link domain.
    pub domain: u32,
    /// The place in the domain.
    pub index: u32,
}

/// IPUs that no partition of this cluster's jobs has, and that are not free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherIpus {
    /// The reason why they are not free.
    pub because: OtherUse,
    /// The partition of `foreign` and `out_of_use` IPUs.
    pub partition: Option<String>,
    /// Whether that partition is being removed or reset, so that its IPUs will soon be free.
    #[serde(default)]
    pub leaving: bool,
    /// Their places. The places of faulty IPUs are assumed, because controllers give only their number.
    pub places: Vec<Place>,
}

/// The reason why IPUs without a job are not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OtherUse {
    /// A partition that is not of this cluster's jobs.
    Foreign,
    /// A partition of the pool that no job can get now.
    OutOfUse,
    /// The controller says that no partition can use them.
    Faulty,
    /// The controller refused without an apparent reason.
    Suspected,
}
