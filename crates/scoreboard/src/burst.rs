//! The last launch of 64 jobs whose partitions are ready together, beside the last launch of 64 plain jobs of stock
//! Slurm that may start together.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Cluster, wait_for, wait_until};
use vipu_client::Call;

use crate::{
    Extent, Row, Target,
    row::Scale,
    sides::{Side, alternate, pairs, settings, with_both},
};

const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let jobs = extent.of(64, 4);
    let settings = |side| settings(side).nodes(1).cpus(64).create_time(Duration::from_millis(100));
    with_both(settings, |both| {
        let mut round = 0;
        let measured = alternate(extent.of(12, 1), |side| {
            round += 1;
            last_launch(both.cluster(side), side, jobs, round)
        })?;
        let pairs = pairs(&measured, |time| 1e3 * time.as_secs_f64());
        let (name, what) = ("burst", "last launch of 64 jobs that are ready together");
        Ok(vec![Row { name, what, unit: "ms", scale: Scale::Ratio, target: Target::AtMost(1.15), pairs }])
    })
}

/// The time from the moment at which all jobs may start until the first command of the last one.
fn last_launch(cluster: &Cluster, side: Side, jobs: usize, round: u32) -> Result<Duration> {
    let starts = format!("starts-{round}");
    // No job ends while others start: ends take time of slurmctld, too.
    let script = format!("date +%s%N >> {starts}\nsleep 8");
    let array = format!("--array=1-{jobs}");
    let options = [array.as_str(), "--output=/dev/null", "--gres=vipu:pod64:1"];
    let begun = |wanted: usize, state: &str| {
        wait_until(&format!("{wanted} jobs to be {state}"), LIMIT, || {
            let shown = cluster.command("squeue").args(&["-h", "-r", "-t", state]).success()?.stdout;
            Ok(shown.lines().count() == wanted)
        })
    };
    let ready = match side {
        Side::Stock => {
            cluster.scontrol(&["update", "PartitionName=v-ipu", "State=DOWN"])?;
            cluster.sbatch(&script, &options)?;
            cluster.scontrol(&["update", "PartitionName=v-ipu", "State=UP"])?;
            None
        }
        Side::Ours => {
            cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) }))?;
            cluster.sbatch(&script, &options)?;
            begun(jobs, "CF")?;
            wait_until(&format!("{jobs} partitions to be ACTIVE"), LIMIT, || {
                let report = cluster.mock().report()?;
                Ok(report.present().filter(|record| record.active.is_some()).count() == jobs)
            })?;
            let ready = now()?;
            cluster.mock().clear()?;
            Some(ready)
        }
    };
    let times = wait_for(&format!("{jobs} jobs to start"), LIMIT, || {
        let times = cluster.job_file(&starts);
        Ok((times.lines().count() == jobs).then_some(times))
    })?;
    let times: Vec<u64> = times.lines().map(str::parse).collect::<Result<_, _>>()?;
    let (first, last) = (times.iter().min(), times.iter().max());
    let (first, last) = first.zip(last).context("no job started")?;
    // A Slurm partition that comes up waits for the scheduler for seconds. The first start leaves that out, and is later
    // than the moment at which the jobs could start: this favours stock.
    let ready = ready.unwrap_or(*first);
    ensure!(*first >= ready, "a job started before it was ready");
    begun(0, "PD,CF,R,CG")?;
    if side == Side::Ours {
        wait_until("the partitions to go", LIMIT, || Ok(cluster.mock().partitions()?.is_empty()))?;
    }
    Ok(Duration::from_nanos(last - ready))
}

fn now() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?)
}
