//! What a Poplar program needs to attach to a partition.

use vipu_types::{Device, Gcd};

use crate::wire;

/// The IPUoF configuration of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionConfig {
    /// One for each graph compilation domain, in order.
    pub gcds: Vec<Gcd>,
}

impl From<wire::PartitionConfig> for PartitionConfig {
    fn from(config: wire::PartitionConfig) -> Self {
        Self { gcds: config.gcd_configs.into_iter().map(Gcd::from).collect() }
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
