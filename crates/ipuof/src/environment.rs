//! The variables by which a program finds its IPUs.
//!
//! There are two families, the file and the controller, and which one wins is documented nowhere: a
//! task must see one of them only.

/// Names one config file.
pub const CONFIG_PATH: &str = "IPUOF_CONFIG_PATH";

/// Names the controller's host.
pub const API_HOST: &str = "IPUOF_VIPU_API_HOST";

/// The port of its user API.
pub const API_PORT: &str = "IPUOF_VIPU_API_PORT";

/// The partition on it.
pub const API_PARTITION_ID: &str = "IPUOF_VIPU_API_PARTITION_ID";

/// The GCD of the partition that the program drives, counted from 0.
pub const API_GCD_ID: &str = "IPUOF_VIPU_API_GCD_ID";

/// Every variable of both families: what a task must not inherit.
pub const FAMILIES: [&str; 7] = [
    CONFIG_PATH,
    API_HOST,
    API_PORT,
    API_PARTITION_ID,
    API_GCD_ID,
    "IPUOF_VIPU_API_TIMEOUT",
    // Some documentation names the partition so.
    "IPUOF_VIPU_PARTITION_ID",
];
