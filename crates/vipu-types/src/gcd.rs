//! What one process needs to reach its IPUs: told by the controller, read by Poplar from a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One graph compilation domain of a partition: what one process drives, and the content of one IPUoF file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gcd {
    /// Its IPUs.
    pub devices: Vec<Device>,
    /// What the controller says of it. Copied as it is: Poplar knows keys that nobody documented.
    pub attributes: BTreeMap<String, String>,
}

/// One IPU and the way to it. Every member is written, also when zero; the names are the file format's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
