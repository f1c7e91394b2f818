//! The description that a process needs to reach its IPUs. The controller gives it, and Poplar reads it from
//! a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One graph compilation domain of a partition. One process drives it, and one IPUoF file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gcd {
    /// Its IPUs.
    pub devices: Vec<Device>,
    /// The controller's text about it. It is copied unchanged, because Poplar knows undocumented keys.
    pub attributes: BTreeMap<String, String>,
}

/// One IPU and the way to it. Each member is written, also if it is zero. The names are those of the file
/// format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// Address of the IPU-Machine on the data network.
    pub ip: String,
    /// TCP port of its IPUoF server.
    pub server_port: u32,
    /// Its RDMA port.
    pub rdma_port: u32,
    /// The number of the device in the IPU-Machine.
    pub device_id: u32,
    /// The IPU-Link domain of the partition that contains the IPU.
    pub ipulink_segment_id: u32,
    /// The logical place in that domain.
    pub routing_id: u32,
    /// Generation of the IPU.
    pub ipu_arch_id: u32,
    /// The number of the IPU in the IPU-Machine.
    pub ipu_id: u32,
    /// The number of the chip.
    pub chip_id: String,
    /// Version of the gateway software.
    pub gwsw_version: String,
    /// Version of the IPU-Machine's software.
    pub ipum_sw_version: String,
}
