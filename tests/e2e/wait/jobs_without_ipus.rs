//! The cost of jobs that wait for IPUs, for jobs without IPUs.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};

use crate::jobs::{roomy, runs, submit, waits};

/// The number of waiting jobs.
const WAITING: usize = 10;

/// The number of measured starts, odd because the median counts.
const STARTS: usize = 5;

/// Returns the median time until a job without IPUs starts, while one job holds a whole resource and ten wait
/// for it.
fn start_behind(cluster: &Cluster, request: &str, reason: &str) -> Result<Duration> {
    let has = submit(cluster, &[request])?;
    runs(cluster, has)?;
    let waiting = (0..WAITING).map(|_| submit(cluster, &[request])).collect::<Result<Vec<_>>>()?;
    waiting.iter().try_for_each(|job| waits(cluster, *job, reason))?;
    let mut starts = (0..STARTS).map(|_| main_job::start_delay(cluster)).collect::<Result<Vec<_>>>()?;
    waiting.iter().try_for_each(|job| waits(cluster, *job, reason))?;
    let all: Vec<_> = waiting.iter().chain([&has]).map(ToString::to_string).collect();
    cluster.command("scancel").args(&all.iter().map(String::as_str).collect::<Vec<_>>()).success()?;
    cluster.await_end(has, crate::LIMIT)?;
    println!("{request}: {starts:?}");
    starts.sort_unstable();
    Ok(starts[STARTS / 2])
}

/// Jobs that wait for IPUs delay other jobs no more than jobs that wait for a licence.
#[test]
fn sched_waiting_for_ipus_holds_up_no_other_job() -> Result<()> {
    // Backfill does not help: a job that the main scheduler passes over waits for half a minute.
    let settings = roomy().slurm_conf("SchedulerParameters=bf_interval=30");
    settings.slurm_conf("Licenses=token:1").run(|cluster| {
        let stock = start_behind(cluster, "--licenses=token", "Licenses")?;
        let ipus = start_behind(cluster, "--gres=vipu:pod64:64", "64 IPUs of pod64 needed, 0 free")?;
        println!("measured: start behind ten jobs that wait for a licence {stock:?}, for IPUs {ipus:?}");
        // Scheduling in vain would cost the rest of backfill's interval. A busy machine costs a second.
        ensure!(
            ipus <= 2 * stock + Duration::from_secs(1),
            "behind IPUs {ipus:?}, behind a licence {stock:?}"
        );
        Ok(())
    })
}
