//! What a Poplar program needs to attach to a partition.

use std::collections::BTreeMap;

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
    pub gcds: Vec<GcdConfig>,
}

/// The part of it that one process reads: the content of one IPUoF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcdConfig {
    /// Its IPUs.
    pub devices: Vec<Device>,
    /// The controller's attributes, to be passed on verbatim.
    pub attributes: BTreeMap<String, String>,
}

/// One IPU as the IPUoF client addresses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Address of the IPU-Machine on the data network.
    pub ip: String,
    /// TCP port of its IPUoF server.
    pub server_port: u32,
    /// Its RDMA port.
    pub rdma_port: u32,
    /// The device in the IPU-Machine.
    pub device_id: u32,
    /// Which of the partition's IPU-Link domains it is in.
    pub ipulink_segment_id: u32,
    /// Its logical place there.
    pub routing_id: u32,
    /// Generation of the IPU.
    pub ipu_arch_id: u32,
    /// The IPU in the IPU-Machine.
    pub ipu_id: u32,
    /// The chip.
    pub chip_id: String,
    /// Version of the gateway software.
    pub gwsw_version: String,
    /// Version of the IPU-Machine's software.
    pub ipum_sw_version: String,
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
            gcds: config.gcd_configs.into_iter().map(GcdConfig::from).collect(),
        }
    }
}

impl From<wire::partition_config::Gcd> for GcdConfig {
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
