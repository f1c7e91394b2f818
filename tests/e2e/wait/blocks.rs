//! A partition is a block of IPUs: free ones that lie apart are no use.

use anyhow::{Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, JobId};

use crate::queued_jobs::{brisk, expected_at, ipus, let_go, running, runs, submit, waits};

/// Four jobs with a quarter of a Pod64 each, in order of their places, running for one, two, three and four hours.
fn quarters(cluster: &Cluster) -> Result<[JobId; 4]> {
    let mut jobs = [1, 2, 3, 4].map(|hours| running(cluster, 16, 60 * hours, &[]));
    jobs.sort_by_key(|job| job.as_ref().ok().and_then(|job| first_ipu(cluster, *job).ok()));
    let [a, b, c, d] = jobs;
    Ok([a?, b?, c?, d?])
}

fn first_ipu(cluster: &Cluster, job: JobId) -> Result<u32> {
    let record = cluster.mock().record(&format!("slurm_{job}"))?;
    Ok(record.ipus().iter().copied().min().unwrap_or_default())
}

#[test]
fn sched_blocks_free_ipus_that_lie_apart() -> Result<()> {
    brisk().run(|cluster| {
        let [first, second, third, fourth] = quarters(cluster)?;
        let_go(cluster, first)?;
        let_go(cluster, third)?;
        let half = ipus(cluster, 32, 60, &[])?;
        waits(cluster, half, "vipu: 32 IPUs of pod64 needed, 32 free, largest block 16")?;
        let soonest = cluster.end_of(second)?.min(cluster.end_of(fourth)?);
        expected_at(cluster, half, soonest + 1)?;
        let_go(cluster, fourth)?;
        runs(cluster, half)?;
        ensure!(first_ipu(cluster, half)? == 32);
        Ok(())
    })
}

#[test]
fn sched_blocks_without_broken_ipus() -> Result<()> {
    brisk().run(|cluster| {
        // One IPU, and a machine of four.
        cluster.mock().cause(Incident::IpuFault { agent: "ag9".into(), ipu: 2 })?;
        cluster.mock().cause(Incident::AgentDown { agent: "ag13".into() })?;
        cluster.reconfigure()?;
        let whole = ipus(cluster, 64, 60, &[])?;
        waits(cluster, whole, "vipu: 64 IPUs of pod64 needed, 59 free, largest block 32")?;
        running(cluster, 32, 30, &[]).map(drop)
    })
}

#[test]
fn sched_blocks_with_broken_ipus_where_nobody_takes_them_to_be() -> Result<()> {
    brisk().expect_log("no room").run(|cluster| {
        // The listing does not tell which IPUs are broken. By it they may be beside those of the other partition.
        cluster.mock().cause(Incident::Foreign { id: "theirs".into(), size: 16, first: Some(0) })?;
        cluster.mock().cause(Incident::AgentDown { agent: "ag9".into() })?;
        cluster.reconfigure()?;
        let half = ipus(cluster, 32, 60, &["--exclusive"])?;
        waits(cluster, half, "vipu: 32 IPUs of pod64 needed, 44 free, largest block 16")?;
        ensure!(cluster.job(half)?.restarts == 1);
        let other = submit(cluster, &["--exclusive", "--time=60"])?;
        runs(cluster, other)?;
        let_go(cluster, other)?;
        cluster.mock().cause(Incident::AgentUp { agent: "ag9".into() })?;
        cluster.reconfigure()?;
        runs(cluster, half)?;
        ensure!(cluster.job(half)?.restarts == 1, "it was started in vain again");
        Ok(())
    })
}
