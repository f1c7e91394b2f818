//! A partition is a block of IPUs: free ones that lie apart are no use.

use anyhow::{Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, JobId, Settings};

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
fn sched_blocks_of_which_one_must_be_left_wherever_the_controller_puts_a_job() -> Result<()> {
    brisk().run(|cluster| {
        let [first, second, _, fourth] = quarters(cluster)?;
        let half = ipus(cluster, 32, 60, &[])?;
        waits(cluster, half, "vipu: 32 IPUs of pod64 needed, 0 free, largest block 0")?;
        let_go(cluster, second)?;
        let_go(cluster, fourth)?;
        // Of the free quarters one is needed in an hour, the other is not. Which a job would get, nobody knows.
        let short = running(cluster, 16, 30, &[])?;
        let_go(cluster, short)?;
        let long = ipus(cluster, 16, 600, &[])?;
        waits(cluster, long, &format!("vipu: IPUs of pod64 are kept for job {half}"))?;
        expected_at(cluster, long, cluster.end_of(first)? + 1)?;
        let_go(cluster, first)?;
        runs(cluster, half)?;
        runs(cluster, long)
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

/// A Pod128 beside the Pod64: two IPU-Link domains.
fn with_pod128() -> Settings {
    let settings = brisk().controller(&["--preset=pod128"]);
    settings.model("pod128", &[1], &["MaxIpusPerJob=128"]).extra_gres("vipu:pod128:no_consume:128")
}

#[test]
fn sched_blocks_of_two_domains() -> Result<()> {
    with_pod128().run(|cluster| {
        let pod128 = |ipus: u32| submit(cluster, &[&format!("--gres=vipu:pod128:{ipus}"), "--time=60"]);
        let both = pod128(128)?;
        runs(cluster, both)?;
        let made = cluster.controller(1).record(&format!("slurm_{both}"))?;
        ensure!(made.ipus().len() == 128, "{made:?}");
        let_go(cluster, both)?;
        // One IPU of one domain, and the other domain is not enough.
        let one = pod128(1)?;
        runs(cluster, one)?;
        let both = pod128(128)?;
        waits(cluster, both, "vipu: 128 IPUs of pod128 needed, 127 free, largest block 64")?;
        expected_at(cluster, both, cluster.end_of(one)? + 1)?;
        let_go(cluster, one)?;
        runs(cluster, both)
    })
}
