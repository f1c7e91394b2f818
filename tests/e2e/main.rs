//! End-to-end tests: real munge, slurmctld and slurmd, a mock controller, and a cluster for each test.
#![forbid(unsafe_code)]

mod account;
mod change;
mod deliver;
mod jobs;
mod keep;
mod leave;
mod mode;
mod reuse;
mod see;
mod share;
mod site;
mod start;
mod survive;
mod wait;

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, JobId, Settings};

/// Longer than any wait that succeeds.
const LIMIT: Duration = Duration::from_secs(60);

/// One node and a Pod64 that makes partitions in 50 ms.
fn quick() -> Settings {
    // On a busy machine, a reset must not be over before slurm-vipu has seen it under way.
    let reset = "--reset-latency=300ms";
    Cluster::settings().nodes(1).create_time(Duration::from_millis(50)).mock(&[reset])
}

/// One node and a Pod64 that needs `seconds` for a partition.
fn slow(seconds: u64) -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_secs(seconds))
}

/// Starts a batch job that shows its IPUs and then stays.
fn stay(cluster: &Cluster, ipus: u32) -> Result<JobId> {
    jobs::running(cluster, ipus, &[])
}

/// Lets all staying jobs end.
fn let_go(cluster: &Cluster) -> Result<()> {
    Ok(std::fs::write(cluster.layout().jobs().join("go"), "")?)
}
