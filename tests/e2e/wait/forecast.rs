//! When a job with IPUs is expected to start.

use anyhow::{Result, ensure};

use crate::jobs::{brisk, expected_at, ipus, let_go, running_for, runs, submit, waits};

/// IPUs are taken to be free a second after the job that has them ends.
const REMOVAL: u64 = 1;

#[test]
fn sched_forecast_is_the_end_of_who_makes_the_block() -> Result<()> {
    brisk().run(|cluster| {
        let first = running_for(cluster, 32, 60, &[])?;
        let first = cluster.end_of(first)? + REMOVAL;
        // A question is no plan: the next job would delay it.
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
        // Behind it: one that is over before it starts, and one that would not be.
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
        // Who waits for CPUs of the other node leaves everybody behind it to backfill.
        runs(cluster, submit(cluster, &[other])?)?;
        submit(cluster, &[other, "--cpus-per-task=2"])?;
        let waiting = ipus(cluster, 64, 60, &[ours])?;
        expected_at(cluster, waiting, cluster.end_of(first)? + REMOVAL)?;
        waits(cluster, waiting, "vipu: 64 IPUs of pod64 needed, 0 free, largest block 0")?;
        // It would have the CPU that is free: backfill must not keep it from a long job.
        let long = submit(cluster, &[ours, "--time=600"])?;
        runs(cluster, long)?;
        let_go(cluster, first)?;
        runs(cluster, waiting)
    })
}
