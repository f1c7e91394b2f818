//! Every kind of job that Slurm has, with IPUs: at the end of each test nothing is left of any of them.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, JobView, Settings, main_job, wait_until};

use crate::{LIMIT, quick};

/// Room for many jobs, and a backfill that looks every second: het jobs start by it alone.
pub(crate) fn brisk() -> Settings {
    busy(quick())
}

pub(crate) fn busy(settings: Settings) -> Settings {
    settings.cpus(64).slurm_conf("SchedulerParameters=bf_interval=1")
}

/// Submits a batch job that shows its IPUs and then stays until [`let_go`].
pub(crate) fn staying(cluster: &Cluster, ipus: u32, more: &[&str]) -> Result<JobId> {
    let script = format!("{}\nwhile [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done", main_job::SHOW);
    cluster.sbatch(&script, &[more, &[&format!("--gres=vipu:pod64:{ipus}")]].concat())
}

/// Submits a job as [`staying`] does, and waits until it runs.
pub(crate) fn running(cluster: &Cluster, ipus: u32, more: &[&str]) -> Result<JobId> {
    let job = staying(cluster, ipus, more)?;
    runs(cluster, job)?;
    Ok(job)
}

pub(crate) fn runs(cluster: &Cluster, job: JobId) -> Result<JobView> {
    cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")
}

pub(crate) fn is_pending_after(job: &JobView, restarts: u16) -> bool {
    job.state == "PENDING" && job.restarts == restarts
}

/// Lets one job end by itself.
pub(crate) fn let_go(cluster: &Cluster, job: JobId) -> Result<()> {
    Ok(std::fs::write(cluster.layout().jobs().join(format!("go-{job}")), "")?)
}

/// Waits for the end of a job in this state.
pub(crate) fn ended(cluster: &Cluster, job: JobId, state: &str) -> Result<JobView> {
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == state, "{ended:?}");
    Ok(ended)
}

pub(crate) fn cancel(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.command("scancel").args(&[&job.to_string()]).success().map(drop)
}

/// `scontrol update` of a job.
pub(crate) fn update(cluster: &Cluster, job: JobId, what: &[&str]) -> Result<()> {
    cluster.scontrol(&[&["update", &format!("JobId={job}")], what].concat()).map(drop)
}

/// Lets a requeued job begin now: Slurm would let it wait for two minutes. Its node refuses a launch in the second in which it
/// was told of the previous end.
pub(crate) fn begin_again(cluster: &Cluster, job: JobId) -> Result<()> {
    let second = || anyhow::Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs());
    let told = second()?;
    wait_until("the next second", LIMIT, || Ok(second()? > told))?;
    update(cluster, job, &["StartTime=now"])
}

/// Waits until the partition of this run is gone.
pub(crate) fn gone(cluster: &Cluster, job: JobId, restarts: u16) -> Result<()> {
    cluster.mock().await_removed(&main_job::partition_name(job, restarts), LIMIT).map(drop)
}

/// There are these partitions, and no others.
pub(crate) fn there_are(cluster: &Cluster, runs: &[(JobId, u16)]) -> Result<()> {
    let mut wanted: Vec<_> =
        runs.iter().map(|(job, restarts)| main_job::partition_name(*job, *restarts)).collect();
    let mut there = cluster.mock().partitions()?;
    wanted.sort_unstable();
    there.sort_unstable();
    ensure!(there == wanted, "there are {there:?} instead of {wanted:?}");
    Ok(())
}

/// Waits until the reason of a waiting job has these words.
pub(crate) fn waits(cluster: &Cluster, job: JobId, words: &str) -> Result<()> {
    let told = |job: &JobView| job.state == "PENDING" && job.reason.replace('_', " ").contains(words);
    cluster.await_job(job, &format!("to wait for '{words}'"), LIMIT, told).map(drop)
}
