//! How long a job without IPUs waits.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::Cluster;

/// How long such a job may take in all.
const LIMIT: Duration = Duration::from_secs(90);

/// Submits a job without IPUs and measures the time until its first command.
///
/// # Errors
/// When it does not run.
pub fn start_delay(cluster: &Cluster) -> Result<Duration> {
    let submitted = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let job = cluster.sbatch("date +%s%N", &["--job-name=without-ipus"])?;
    cluster.await_end(job, LIMIT)?;
    let output = cluster.job_output(job);
    let started = output.trim().parse().with_context(|| format!("job {job} printed {output}"))?;
    Ok(Duration::from_nanos(started).saturating_sub(submitted))
}
