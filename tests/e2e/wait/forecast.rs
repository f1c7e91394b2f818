//! The expected start of a job with IPUs.

use anyhow::{Result, ensure};

use crate::jobs::{brisk, expected_at, ipus, let_go, running_for, runs, submit, waits};

/// The IPUs of a job count as free one second after the job's end.
const REMOVAL: u64 = 1;

#[test]
fn sched_forecast_is_the_end_of_the_job_that_frees_the_block() -> Result<()> {
    brisk().run(|cluster| {
        let first = running_for(cluster, 32, 60, &[])?;
        let first = cluster.end_of(first)? + REMOVAL;
        // A question makes no plan: otherwise the next job would delay the start.
        let whole = ["--gres=vipu:pod64:64", "--time=60", "--priority=4000000000"];
        ensure!(cluster.test_only(&whole)? == first);
        let last = running_for(cluster, 32, 120, &["--priority=1"])?;
        let last = cluster.end_of(last)? + REMOVAL;
        for (size, start) in [(1, first), (32, first), (64, last)] {
            let told = cluster.test_only(&[&format!("--gres=vipu:pod64:{size}"), "--time=10"])?;
            ensure!(told == start, "{size} IPUs at {told}, not at {start}");
        }
        let whole = ipus(cluster, 64, 200, &[])?;
        expected_at(cluster, whole, last)?;
        // Behind it, one job ends before it starts, and one would not.
        let (short, long) = (ipus(cluster, 32, 30, &[])?, ipus(cluster, 16, 100, &[])?);
        expected_at(cluster, short, first)?;
        expected_at(cluster, long, last + 200 * 60)
    })
}

#[test]
fn sched_forecast_keeps_no_node() -> Result<()> {
    brisk().cpus(2).nodes(2).run(|cluster| {
        let (ours, other) = ("--nodelist=ipu-pod64-001", "--nodelist=ipu-pod64-002");
        let first = running_for(cluster, 64, 60, &[ours])?;
        // A job that waits for CPUs of the other node leaves all jobs behind it to backfill.
        runs(cluster, submit(cluster, &[other])?)?;
        submit(cluster, &[other, "--cpus-per-task=2"])?;
        let waiting = ipus(cluster, 64, 60, &[ours])?;
        expected_at(cluster, waiting, cluster.end_of(first)? + REMOVAL)?;
        waits(cluster, waiting, "vipu: 64 IPUs of pod64 needed, 0 free, largest block 0")?;
        // The waiting job would use the free CPU, but backfill must not keep that CPU from a long job.
        let long = submit(cluster, &[ours, "--time=600"])?;
        runs(cluster, long)?;
        let_go(cluster, first)?;
        runs(cluster, waiting)
    })
}
