//! The environment variables by which a program finds its IPUs.
//!
//! There is one family of variables for the file and one for the controller. No document says which family
//! wins, so a task gets variables of one family only.

use vipu_types::{ControllerName, Grant};

/// The path of a config file.
pub const CONFIG_PATH: &str = "IPUOF_CONFIG_PATH";

/// The host of the controller.
pub const API_HOST: &str = "IPUOF_VIPU_API_HOST";

/// The port of the controller's user API.
pub const API_PORT: &str = "IPUOF_VIPU_API_PORT";

/// The id of the partition.
pub const API_PARTITION_ID: &str = "IPUOF_VIPU_API_PARTITION_ID";

/// The GCD of the partition that the program uses, counted from 0.
pub const API_GCD_ID: &str = "IPUOF_VIPU_API_GCD_ID";

/// The time in seconds for which a program waits for the controller.
pub const API_TIMEOUT: &str = "IPUOF_VIPU_API_TIMEOUT";

/// The variables of both families. A task must not inherit any of them.
pub const FAMILIES: [&str; 7] = [
    CONFIG_PATH,
    API_HOST,
    API_PORT,
    API_PARTITION_ID,
    API_GCD_ID,
    API_TIMEOUT,
    // Some documents have this name for the partition.
    "IPUOF_VIPU_PARTITION_ID",
];

/// The variables for a program that asks the controller. The only GCD of a partition is not named.
pub fn of_api(grant: &Grant, gcd: u32) -> Vec<(&'static str, String)> {
    let host = grant.controller.as_ref().map(|name| (API_HOST, name.host().to_owned()));
    let port = grant.controller.as_ref().map(ControllerName::port).map(|port| (API_PORT, port.to_string()));
    let gcd = (grant.gcds > 1).then(|| (API_GCD_ID, gcd.to_string()));
    let partition = Some((API_PARTITION_ID, grant.on_controller().to_string()));
    [host, port, partition, gcd].into_iter().flatten().collect()
}

/// Whether a container needs this variable of a job step: the families, the settings of Poplar for IPUs, and what
/// scripts know of the partition. The grant is for the SPANK plugin, and stays outside.
pub fn is_for_programs(name: &str) -> bool {
    let is_about_partition =
        name.starts_with(Grant::BEGINNING) && !name.starts_with(Grant::BEGINNING_OF_GRANT);
    name.starts_with("IPUOF_") || is_about_partition
}
