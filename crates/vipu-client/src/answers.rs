//! What a controller answers: states of partitions, listings, IPUs, and the description of GCDs.

use std::collections::BTreeMap;

use vipu_types::{Device, Gcd, Place};

use crate::wire;

/// Makes an enumeration of the API, open to numbers that a newer controller may send.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident = $wire:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $wire_variant:ident,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            /// Not given: the controller chooses, or does not know.
            #[default]
            Undefined,
            $($(#[$variant_doc])* $variant,)+
            /// A number this client does not know.
            Unknown(i32),
        }

        impl From<i32> for $name {
            fn from(number: i32) -> Self {
                match wire::$wire::try_from(number) {
                    $(Ok(wire::$wire::$wire_variant) => Self::$variant,)+
                    Ok(_) => Self::Undefined,
                    Err(_) => Self::Unknown(number),
                }
            }
        }
    };
}

open_enum! {
    /// Whether a partition can be used.
    ReadyState = PartitionReadyState {
        /// Not yet.
        Pending = PsPending,
        /// Yes.
        Active = PsActive,
        /// Not any more.
        Removed = PsRemoved,
        /// No; the status says why.
        Error = PsError,
    }
}

open_enum! {
    /// The operation that is under way on a partition.
    OperationState = PartitionOperationState {
        /// No operation.
        Idle = PosIdle,
        /// The partition is being made.
        Creating = PosCreating,
        /// The partition is being removed.
        Removing = PosRemoving,
        /// The partition is being reset.
        Resetting = PosResetting,
        /// The last operation failed.
        Failed = PosFailed,
    }
}

/// The status of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Whether the partition can be used.
    pub ready: ReadyState,
    /// The operation that is under way on the partition.
    pub operation: OperationState,
    /// The reasons of an error, in the controller's words.
    pub errors: Vec<String>,
}

impl From<wire::PartitionStatus> for PartitionStatus {
    fn from(status: wire::PartitionStatus) -> Self {
        let (ready, operation) = (status.ready_state.into(), status.operation_state.into());
        Self { ready, operation, errors: status.errors }
    }
}

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

impl From<wire::partition_config::Gcd> for Gcd {
    fn from(gcd: wire::partition_config::Gcd) -> Self {
        Self { devices: gcd.devices.into_iter().map(Device::from).collect(), attributes: gcd.attributes }
    }
}

impl From<wire::IpuofDevice> for Device {
    fn from(device: wire::IpuofDevice) -> Self {
        Self {
            ip: device.ip,
            server_port: device.server_port,
            rdma_port: device.rdma_port,
            device_id: device.device_id,
            ipulink_segment_id: device.ipulink_segment_id,
            routing_id: device.routing_id,
            ipu_arch_id: device.ipu_arch_id,
            ipu_id: device.ipu_id,
            chip_id: device.chip_id,
            gwsw_version: device.gwsw_version,
            ipum_sw_version: device.ipum_sw_version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers_have_their_names_and_others_stay_numbers() {
        let ready = [0, 2, 17].map(ReadyState::from);
        assert_eq!(ready, [ReadyState::Undefined, ReadyState::Active, ReadyState::Unknown(17)]);
    }
}
