//! End-to-end tests: real munge, slurmctld and slurmd, a mock controller, and a cluster for each test.
#![forbid(unsafe_code)]

mod change;
mod deliver;
mod jobs;
mod keep;
mod share;
mod start;
mod survive;
mod wait;

use std::time::Duration;

use anyhow::Result;
use testbed::{Cluster, JobId, Settings, main_job};

/// Longer than any wait that succeeds.
const LIMIT: Duration = Duration::from_secs(60);

/// One node and a Pod64 that makes partitions in 50 ms.
fn quick() -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_millis(50))
}

/// One node and a Pod64 that needs `seconds` for a partition.
fn slow(seconds: u64) -> Settings {
    Cluster::settings().nodes(1).create_time(Duration::from_secs(seconds))
}

/// Starts a batch job that shows its IPUs and then stays until [`let_go`].
fn stay(cluster: &Cluster, ipus: u32) -> Result<JobId> {
    let script = format!("{}\nwhile [ ! -e go ]; do sleep 0.1; done\necho went", main_job::SHOW);
    let job = cluster.sbatch(&script, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
    Ok(job)
}

/// Lets the jobs of [`stay`] end.
fn let_go(cluster: &Cluster) -> Result<()> {
    Ok(std::fs::write(cluster.layout().jobs().join("go"), "")?)
}
