//! Partitions that stay idle after their jobs, and are given to others (`KeepIdle`).

mod makespan;
mod next_job;

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, Settings, main_job::partition_name, wait_until};

use crate::{LIMIT, jobs::roomy};

/// A cluster whose partitions stay idle for an hour, with listings each second.
fn keeping(reset: &str) -> Settings {
    roomy()
        .vipu_conf("KeepIdle=3600")
        .vipu_conf("KeepIdleFor=any-job")
        .vipu_conf(&format!("ReuseReset={reset}"))
        .vipu_conf("ReconcileInterval=1")
}

/// Waits until exactly the partitions of these jobs' first runs are there, and idle.
fn are_idle(cluster: &Cluster, jobs: &[JobId]) -> Result<()> {
    let mut wanted: Vec<_> = jobs.iter().map(|job| partition_name(*job, 0)).collect();
    wanted.sort_unstable();
    wait_until(&format!("{wanted:?} to be idle"), LIMIT, || {
        let log = cluster.slurmctld_log();
        let is_idle = |id: &String| {
            let last = log.lines().rfind(|line| line.contains(&format!("partition {id} ")));
            last.is_some_and(|line| line.contains("stays idle"))
        };
        let mut there = cluster.mock().partitions()?;
        there.sort_unstable();
        Ok(there == wanted && wanted.iter().all(is_idle))
    })
}

fn none_is_left(cluster: &Cluster) -> Result<()> {
    wait_until("no partition to be there", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))
}

/// Ends the keeping, and waits until no partition is there.
fn keep_no_longer(cluster: &Cluster) -> Result<()> {
    cluster.write_vipu_conf(&["KeepIdle=0", "ReconcileInterval=1"])?;
    cluster.reconfigure()?;
    none_is_left(cluster)?;
    ensure!(cluster.ipuof_files()?.is_empty(), "{:?}", cluster.ipuof_files()?);
    Ok(())
}
