//! Upgrades of slurm-vipu from an earlier build to this one, and back, under load. `cargo xtask upgrade` provides the
//! earlier build and runs these tests.
#![forbid(unsafe_code)]

#[path = "../e2e/jobs.rs"]
#[allow(dead_code, reason = "the other end-to-end tests use the rest")]
mod jobs;
mod load;
mod order;

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, Settings, programs::Build};

/// Longer than any wait that succeeds.
const LIMIT: Duration = Duration::from_secs(60);

/// The files of nodes.
const OF_NODES: [&str; 3] = ["select_vipu.so", "spank_ipuof.so", "gres_vipu.so"];

/// The files that slurmctld needs. All of them are of one build.
const OF_SLURMCTLD: [&str; 3] = ["select_vipu.so", "vipu_slurmctld.so", "job_submit_vipu.so"];

/// One node and a Pod64 that makes partitions in 50 ms.
fn quick() -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_millis(50))
}

/// A cluster with load in mind, with the earlier build on all hosts.
fn earlier_site() -> Result<Settings> {
    Ok(load::site().build(&Build::earlier()?))
}

/// Lets all staying jobs end.
fn let_go(cluster: &Cluster) -> Result<()> {
    Ok(std::fs::write(cluster.layout().jobs().join("go"), "")?)
}
