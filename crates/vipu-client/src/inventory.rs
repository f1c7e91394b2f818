//! What a controller has: its IPUs and the partitions on them.

use std::collections::BTreeMap;

use vipu_types::Place;

use crate::{ReadyState, wire};

/// A partition as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// Its name. Others may have made it, so it need not be one that we would give.
    pub id: String,
    /// Whether it can be used.
    pub ready: ReadyState,
    /// Its IPUs in routing order; their number is its size.
    pub places: Vec<Place>,
    /// The allocation it is in.
    pub allocation: String,
    /// The cluster it is in.
    pub cluster: String,
    /// Whether Poplar may attach to subsets.
    pub reconfigurable: bool,
    /// Graph compilation domains.
    pub num_gcds: u32,
    /// Replicas of all of them together.
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

/// One IPU and what its agent says of it.
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
    /// The error this IPU is in, if any; an IPU of which no error state is told is taken for sound.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        let state = self.attributes.get("ipu error state")?;
        (state != "no errors").then_some(state)
    }

    /// The IPUs of one agent, as a reply lists them.
    pub fn of_entry(entry: wire::list_ipu_attributes_reply::Entry) -> impl Iterator<Item = Self> {
        let agent = entry.agent;
        entry.ipu_attributes.into_iter().map(move |(hardware_id, known)| Self {
            agent: agent.clone(),
            hardware_id,
            attributes: known.attributes,
        })
    }
}
