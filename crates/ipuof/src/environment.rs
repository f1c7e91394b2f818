//! The variables by which a program finds its IPUs.
//!
//! There are two families, the file and the controller, and which one wins is documented nowhere: a
//! task must see one of them only.

/// Names one config file.
pub const CONFIG_PATH: &str = "IPUOF_CONFIG_PATH";

/// Every variable of both families: what a task must not inherit.
pub const FAMILIES: [&str; 7] = [
    CONFIG_PATH,
    "IPUOF_VIPU_API_HOST",
    "IPUOF_VIPU_API_PORT",
    "IPUOF_VIPU_API_PARTITION_ID",
    "IPUOF_VIPU_API_GCD_ID",
    "IPUOF_VIPU_API_TIMEOUT",
    // Some documentation names the partition so.
    "IPUOF_VIPU_PARTITION_ID",
];
