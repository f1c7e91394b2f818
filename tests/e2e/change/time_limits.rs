//! Time limits.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{main_job, wait_until};

use crate::LIMIT;
use crate::jobs::{brisk, ended, gone, now, runs, there_are, time_is_up};

/// The duration of a create. It is longer than each of [`SHORT_TIMEOUTS`], and than the half minute between
/// Slurm's looks at time limits.
const LONG_CREATE: Duration = Duration::from_secs(45);

/// Time-outs of Slurm. srun of 22.05 waits for its nodes five times as long as SuspendTimeout and
/// ResumeTimeout together.
const SHORT_TIMEOUTS: [&str; 5] =
    ["BatchStartTimeout=5", "InactiveLimit=10", "MessageTimeout=5", "ResumeTimeout=4", "SuspendTimeout=4"];

#[test]
fn job_time_limit_does_not_count_while_the_partition_is_made() -> Result<()> {
    let settings = SHORT_TIMEOUTS.iter().fold(brisk(), |settings, line| settings.slurm_conf(line));
    settings.create_time(LONG_CREATE).vipu_conf("CreateTimeout=1200").run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16", "--time=1"])?;
        main_job::await_creating(cluster, job)?;
        time_is_up(cluster, job)?;
        let prepared = main_job::srun(cluster, 4)?;
        ensure!(prepared.create >= LONG_CREATE, "{prepared:?}");
        main_job::batch_ended(cluster, job, 16)?;
        ensure!(cluster.job(job)?.restarts == 0, "job {job} was requeued");
        Ok(())
    })
}

#[test]
fn job_time_limit_of_a_job_that_ignores_signals() -> Result<()> {
    brisk().slurm_conf("KillWait=2").run(|cluster| {
        let script = "trap '' TERM\necho ready\nwhile :; do sleep 0.1; done";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:4", "--time=1"])?;
        let is_ready = || Ok(cluster.job_output(job).contains("ready"));
        wait_until("the script to ignore signals", LIMIT, is_ready)?;
        runs(cluster, job)?;
        there_are(cluster, &[(job, 0)])?;
        time_is_up(cluster, job)?;
        let up = now()?;
        ended(cluster, job, "TIMEOUT")?;
        gone(cluster, job, 0)?;
        let record = cluster.mock().record(&main_job::partition_name(job, 0))?;
        let removed = Duration::from_nanos(record.remove_request.context("nobody removed it")?.0);
        // The job had its IPUs as long as it could use them.
        let kept = removed.saturating_sub(up);
        ensure!(kept >= Duration::from_millis(1500), "the partition went {kept:?} after the time was up");
        Ok(())
    })
}
