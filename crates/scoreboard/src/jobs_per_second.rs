//! Jobs without IPUs: how many start in a second, and what that costs slurmctld.

use std::time::Duration;

use anyhow::{Context, Result};
use testbed::{Cluster, wait_for, wait_until};

use crate::{
    Extent, Row, Target,
    sides::{alternate, settings, with_both},
};

const LIMIT: Duration = Duration::from_secs(300);

struct Run {
    per_second: f64,
    processor: Duration,
}

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let jobs = extent.of(400, 10);
    with_both(settings, |both| {
        let mut round = 0;
        let measured = alternate(extent.pairs(12), |side| {
            round += 1;
            run(both.cluster(side), jobs, round)
        })?;
        Ok(vec![
            Row::ratio(
                ("jobs", "jobs without IPUs per second", "1/s"),
                Target::AtLeast(0.98),
                &measured,
                |run| run.per_second,
            ),
            Row::ratio(
                ("processor", "processor time of slurmctld for them, user and system", "ms"),
                Target::AtMost(1.02),
                &measured,
                |run| 1e3 * run.processor.as_secs_f64(),
            ),
        ])
    })
}

fn run(cluster: &Cluster, jobs: u32, round: u32) -> Result<Run> {
    let starts = format!("starts-{round}");
    cluster.scontrol(&["update", "PartitionName=v-ipu", "State=DOWN"])?;
    let array = format!("--array=1-{jobs}");
    cluster.sbatch(&format!("date +%s%N >> {starts}"), &[&array, "--output=/dev/null"])?;
    let slurmctld = cluster.slurmctld()?;
    let before = slurmctld.processor_time()?;
    cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
    // From the first start on, without the time until the scheduler looks at a Slurm partition that has come up.
    let (first, last) = first_and_last_start(cluster, &starts, usize::try_from(jobs)?, LIMIT)?;
    wait_until("the jobs to end", LIMIT, || {
        Ok(cluster.command("squeue").args(&["-h"]).success()?.stdout.is_empty())
    })?;
    let processor = slurmctld.processor_time()?.saturating_sub(before);
    let took = Duration::from_nanos(last - first);
    Ok(Run { per_second: f64::from(jobs - 1) / took.as_secs_f64(), processor })
}

/// Waits until as many jobs have started, and returns the first and the last time of the file in which each notes its
/// start, in nanoseconds since the Unix epoch.
pub(crate) fn first_and_last_start(
    cluster: &Cluster,
    file: &str,
    jobs: usize,
    limit: Duration,
) -> Result<(u64, u64)> {
    let times = wait_for(&format!("{jobs} jobs to start"), limit, || {
        let times = cluster.job_file(file);
        Ok((times.lines().count() == jobs).then_some(times))
    })?;
    let times: Vec<u64> = times.lines().map(str::parse).collect::<Result<_, _>>()?;
    times.iter().copied().min().zip(times.iter().copied().max()).context("no job started")
}
