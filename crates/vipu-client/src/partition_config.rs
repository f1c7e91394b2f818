//! What a Poplar program needs to attach to a partition.

use vipu_types::{Device, Gcd};

use crate::{GatewayRouting, IpuLinkRouting, SyncType, wire};

/// The IPUoF configuration of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionConfig {
    /// Whether Poplar may attach to subsets.
    pub reconfigurable: bool,
    /// How the global sync is wired.
    pub sync_type: SyncType,
    /// Routing over IPU-Links.
    pub ipulink_routing: IpuLinkRouting,
    /// Routing between IPU-Link domains.
    pub gateway_routing: GatewayRouting,
    /// IPU-Link domains it touches.
    pub num_segments: u32,
    /// Version of the IPUoF server.
    pub server_version: String,
    /// One for each graph compilation domain, in order.
    pub gcds: Vec<Gcd>,
}

impl From<wire::PartitionConfig> for PartitionConfig {
    fn from(config: wire::PartitionConfig) -> Self {
        Self {
            reconfigurable: config.reconfigurable,
            sync_type: config.sync_type.into(),
            ipulink_routing: config.ipulink_routing_type.into(),
            gateway_routing: config.gw_routing_type.into(),
            num_segments: config.num_ipulink_segments,
            server_version: config.ipuof_server_version,
            gcds: config.gcd_configs.into_iter().map(Gcd::from).collect(),
        }
    }
}

impl From<wire::partition_config::Gcd> for Gcd {
    fn from(gcd: wire::partition_config::Gcd) -> Self {
        Self { devices: gcd.devices.into_iter().map(Device::from).collect(), attributes: gcd.attributes }
    }
}

impl From<wire::IpuofDevice> for Device {
    fn from(device: wire::IpuofDevice) -> Self {
        let wire::IpuofDevice {
            ip,
            server_port,
            rdma_port,
            device_id,
            ipulink_segment_id,
            routing_id,
            ipu_arch_id,
            ipu_id,
            chip_id,
            gwsw_version,
            ipum_sw_version,
        } = device;
        Self {
            ip,
            server_port,
            rdma_port,
            device_id,
            ipulink_segment_id,
            routing_id,
            ipu_arch_id,
            ipu_id,
            chip_id,
            gwsw_version,
            ipum_sw_version,
        }
    }
}
