//! End-to-end tests that need more than one host. Each test has a cluster of containers, see
//! `docker/compose.yaml`.
//!
//! `cargo xtask test --matrix` runs them on the Slurm of every Debian suite.
#![forbid(unsafe_code)]

mod bare_login;
mod configless;
mod docker_page;
mod job_kinds;
mod lost_controllers;
mod lost_node;
mod main_job;
mod slurm_upgrade;
mod values_agree_with_scontrol;

use std::time::Duration;

use anyhow::Result;
use testbed::{JobId, Settings, compose::Cluster};

/// The longest time for any awaited event.
const LIMIT: Duration = Duration::from_secs(60);

/// A Pod64 that makes partitions in 50 ms.
fn quick() -> Settings {
    Settings::default().create_time(Duration::from_millis(50))
}

/// A Pod64 that needs `seconds` for a partition.
fn slow(seconds: u64) -> Settings {
    Settings::default().create_time(Duration::from_secs(seconds))
}

/// Starts a batch job that shows its IPUs and then runs until [`let_go`].
fn stay(cluster: &Cluster, args: &[&str]) -> Result<JobId> {
    let script = format!("{}\nwhile [ ! -e go ]; do sleep 0.1; done\necho went", testbed::main_job::SHOW);
    let job = cluster.sbatch(&script, args)?;
    cluster.await_state(job, "RUNNING", LIMIT)?;
    Ok(job)
}

/// Lets the jobs of [`stay`] end.
fn let_go(cluster: &Cluster) -> Result<()> {
    cluster.command("touch").args(&["go"]).success().map(drop)
}

/// The name of the partition of a job that was never requeued.
fn partition(job: JobId) -> String {
    testbed::main_job::partition_name(job, 0)
}
