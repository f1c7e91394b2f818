//! The configuration of a partition's GCDs, which a Poplar program needs to attach to it.

use vipu_types::{Device, Gcd};

use crate::wire;

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
