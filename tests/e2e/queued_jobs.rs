//! Submitting jobs with time limits, and looking at what the queue says of them.
//!
//! Time limits are minutes in Slurm, so jobs get long ones and are let go by a file.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, Settings, wait_until};

use crate::{LIMIT, quick};

/// Room for many jobs, and a backfill that looks every second.
pub(crate) fn brisk() -> Settings {
    roomy().slurm_conf("SchedulerParameters=bf_interval=1")
}

/// Room for many jobs, and a backfill that does not come.
pub(crate) fn without_backfill() -> Settings {
    roomy().slurm_conf("SchedulerParameters=bf_interval=3600")
}

pub(crate) fn roomy() -> Settings {
    quick().cpus(64).remove_time(Duration::ZERO)
}

/// Submits a batch job that stays until [`let_go`].
pub(crate) fn submit(cluster: &Cluster, args: &[&str]) -> Result<JobId> {
    cluster.sbatch("while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done", args)
}

/// Submits a job for so many IPUs, with a time limit in minutes.
pub(crate) fn ipus(cluster: &Cluster, ipus: u32, minutes: u32, more: &[&str]) -> Result<JobId> {
    let args = [format!("--gres=vipu:pod64:{ipus}"), format!("--time={minutes}")];
    submit(cluster, &[more, &args.each_ref().map(String::as_str)].concat())
}

/// Submits a job as [`ipus`] does, and waits until it runs.
pub(crate) fn running(cluster: &Cluster, size: u32, minutes: u32, more: &[&str]) -> Result<JobId> {
    let job = ipus(cluster, size, minutes, more)?;
    runs(cluster, job)?;
    Ok(job)
}

pub(crate) fn runs(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING").map(drop)
}

/// Lets one job end, and waits until nothing is left of it.
pub(crate) fn let_go(cluster: &Cluster, job: JobId) -> Result<()> {
    std::fs::write(cluster.layout().jobs().join(format!("go-{job}")), "")?;
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == "COMPLETED", "{ended:?}");
    Ok(())
}

/// Waits until squeue's column of reasons has these words for a job.
pub(crate) fn waits(cluster: &Cluster, job: JobId, words: &str) -> Result<()> {
    let mut last = String::new();
    let seen = wait_until(&format!("job {job} to wait for '{words}'"), LIMIT, || {
        last = cluster.squeue(job, "%t %r")?;
        Ok(last.starts_with("PD ") && last.contains(words))
    });
    seen.with_context(|| format!("it was last: {last}"))
}

/// Waits until Slurm expects a waiting job to start then.
pub(crate) fn expected_at(cluster: &Cluster, job: JobId, start: u64) -> Result<()> {
    let mut last = None;
    let seen = wait_until(&format!("job {job} to be expected at {start}"), LIMIT, || {
        last = cluster.start_of(job)?;
        Ok(last == Some(start))
    });
    seen.with_context(|| format!("it was last expected at {last:?}"))
}

/// Waits until both schedulers have looked at the queue so often: at a job of it that changes a little, as else they
/// may see nothing to do.
pub(crate) fn looked_at(cluster: &Cluster, job: JobId, times: u64) -> Result<()> {
    let wanted = cluster.backfill_cycles()? + times;
    wait_until(&format!("{times} more looks at the queue"), LIMIT + Duration::from_secs(2 * times), || {
        let cycles = cluster.backfill_cycles()?;
        cluster.scontrol(&["update", &format!("JobId={job}"), &format!("Comment=cycle-{cycles}")])?;
        Ok(cycles >= wanted)
    })
}
