//! End-to-end tests: real munge, slurmctld and slurmd, a mock controller, a cluster for each test.
#![forbid(unsafe_code)]

mod array;
mod binaries;
mod conf_files;
mod controller;
mod delivery;
mod endings;
mod failures;
mod requests;
mod restarts;
mod starts;

use std::time::Duration;

use testbed::{Cluster, Settings};

/// Longer than anything takes that happens at all.
const LIMIT: Duration = Duration::from_secs(60);

/// One node before a Pod64 that makes partitions in no time.
fn quick() -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_millis(50))
}

/// One node before a Pod64 that needs `seconds` for a partition.
fn slow(seconds: u64) -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_secs(seconds))
}
