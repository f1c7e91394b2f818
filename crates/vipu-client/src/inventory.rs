//! The IPUs of a controller, and the partitions on them.

use std::collections::BTreeMap;

use vipu_types::Place;

use crate::{ReadyState, wire};

/// A partition as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// The name of the partition. Other software may have made the partition, so the name need not be one
    /// that we would give.
    pub id: String,
    /// Whether the partition can be used.
    pub ready: ReadyState,
    /// The IPUs of the partition in routing order; their number is its size.
    pub places: Vec<Place>,
    /// The allocation of the partition.
    pub allocation: String,
    /// The cluster of the partition.
    pub cluster: String,
    /// Whether Poplar may attach to subsets.
    pub reconfigurable: bool,
    /// The number of graph compilation domains.
    pub num_gcds: u32,
    /// The number of replicas of all GCDs together.
    pub num_replicas: u32,
}

impl From<wire::Partition> for PartitionInfo {
    fn from(partition: wire::Partition) -> Self {
        let spec = partition.spec.unwrap_or_default();
        Self {
            id: partition.id,
            ready: partition.ready_state.into(),
            places: spec.ipus.iter().map(place).collect(),
            allocation: spec.allocation_id,
            cluster: spec.cluster_id,
            reconfigurable: spec.reconfigurable,
            num_gcds: spec.num_gcds,
            num_replicas: spec.num_replicas,
        }
    }
}

fn place(ipu: &wire::PartitionIpu) -> Place {
    Place { domain: ipu.ipulink_domain_topology_id, index: ipu.topology_id }
}

/// One IPU and the attributes that its agent reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipu {
    /// The agent, one for each IPU-Machine.
    pub agent: String,
    /// The IPU's hardware id in its IPU-Machine.
    pub hardware_id: u32,
    /// All attributes, by the controller's names.
    pub attributes: BTreeMap<String, String>,
}

impl Ipu {
    /// The error state of this IPU, if any. An IPU without a reported error state counts as sound.
    pub fn fault(&self) -> Option<&str> {
        let state = self.attributes.get("ipu error state")?;
        (state != "no errors").then_some(state)
    }

    /// Returns the IPUs of one agent, as a reply lists them.
    pub fn of_entry(entry: wire::list_ipu_attributes_reply::Entry) -> impl Iterator<Item = Self> {
        let agent = entry.agent;
        entry.ipu_attributes.into_iter().map(move |(hardware_id, known)| Self {
            agent: agent.clone(),
            hardware_id,
            attributes: known.attributes,
        })
    }
}
