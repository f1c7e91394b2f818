//! Jobs without IPUs: how many start in a second, and what that costs slurmctld.

use std::time::Duration;

use anyhow::{Context, Result};
use testbed::{Cluster, wait_for, wait_until};

use crate::{
    Extent, Row, Target,
    row::Scale,
    sides::{alternate, pairs, settings, with_both},
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
            Row {
                name: "jobs",
                what: "jobs without IPUs per second",
                unit: "1/s",
                scale: Scale::Ratio,
                target: Target::AtLeast(0.98),
                pairs: pairs(&measured, |run| run.per_second),
            },
            Row {
                name: "processor",
                what: "processor time of slurmctld for them, user and system",
                unit: "ms",
                scale: Scale::Ratio,
                target: Target::AtMost(1.02),
                pairs: pairs(&measured, |run| 1e3 * run.processor.as_secs_f64()),
            },
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
    let times = wait_for(&format!("{jobs} jobs to start"), LIMIT, || {
        let times = cluster.job_file(&starts);
        Ok((times.lines().count() == usize::try_from(jobs)?).then_some(times))
    })?;
    wait_until("the jobs to end", LIMIT, || {
        Ok(cluster.command("squeue").args(&["-h"]).success()?.stdout.is_empty())
    })?;
    let processor = slurmctld.processor_time()?.saturating_sub(before);
    // From the first start on, without the time until the scheduler looks at a Slurm partition that has come up.
    let times: Vec<u64> = times.lines().map(str::parse).collect::<Result<_, _>>()?;
    let (first, last) = times.iter().min().zip(times.iter().max()).context("no job started")?;
    let took = Duration::from_nanos(last - first);
    Ok(Run { per_second: f64::from(jobs - 1) / took.as_secs_f64(), processor })
}
