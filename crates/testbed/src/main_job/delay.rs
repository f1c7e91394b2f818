//! The waiting time of a job without IPUs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use crate::Cluster;

const LIMIT: Duration = Duration::from_secs(600);

pub fn start_delay(cluster: &Cluster) -> Result<Duration> {
    let submitted = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let job = cluster.sbatch("date +%s%N", &["--job-name=without-ipus"])?;
    cluster.await_end(job, LIMIT)?;
    let output = cluster.job_output(job);
    let started = output.trim().parse().with_context(|| format!("job {job} printed {output}"))?;
    Ok(Duration::from_nanos(started).saturating_sub(submitted))
}

/// Measures [`start_delay`] while one job has all of a GRES and another job waits for it.
pub fn delay_behind(cluster: &Cluster, gres: &str) -> Result<Duration> {
    let request = format!("--gres={gres}");
    let full = cluster.sbatch("sleep 1000", &[&request])?;
    cluster.await_job(full, "to run", LIMIT, |job| job.state == "RUNNING")?;
    let waiting = cluster.sbatch("true", &[&request])?;
    let delay = start_delay(cluster)?;
    let seen = cluster.job(waiting)?;
    ensure!(seen.state == "PENDING", "there is only one {gres}, but job {waiting} is {}", seen.state);
    cluster.command("scancel").args(&[&waiting.to_string(), &full.to_string()]).success()?;
    cluster.await_end(full, LIMIT)?;
    Ok(delay)
}
