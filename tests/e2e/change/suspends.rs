//! Jobs that are suspended.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobId, main_job};

use crate::LIMIT;
use crate::jobs::{
    begin_again, brisk, cancel, ended, gone, let_go, made, restart_slurmctld, running, runs, staying,
    there_are, waits_again,
};

fn suspend(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.scontrol(&["suspend", &job.to_string()])?;
    cluster.await_job(job, "to be suspended", LIMIT, |job| job.state == "SUSPENDED").map(drop)
}

#[test]
fn job_suspended_may_be_cancelled_or_requeued() -> Result<()> {
    brisk().run(|cluster| {
        let (cancelled, requeued) = (running(cluster, 16, &[])?, running(cluster, 16, &["--requeue"])?);
        suspend(cluster, cancelled)?;
        suspend(cluster, requeued)?;
        cancel(cluster, cancelled)?;
        ended(cluster, cancelled, "CANCELLED")?;
        gone(cluster, cancelled, 0)?;
        cluster.scontrol(&["requeue", &requeued.to_string()])?;
        waits_again(cluster, requeued, 1)?;
        gone(cluster, requeued, 0)?;
        // Slurm holds a job that was suspended.
        begin_again(cluster, requeued)?;
        cluster.scontrol(&["release", &requeued.to_string()])?;
        runs(cluster, requeued)?;
        there_are(cluster, &[(requeued, 1)])?;
        let_go(cluster, requeued)
    })
}

#[test]
fn job_suspended_while_creating_may_be_cancelled() -> Result<()> {
    brisk().create_time(Duration::from_secs(2)).run(|cluster| {
        let [before, after] = [staying(cluster, 8, &[])?, staying(cluster, 8, &[])?];
        for job in [before, after] {
            main_job::await_creating(cluster, job)?;
            suspend(cluster, job)?;
        }
        // One job is cancelled before it has its partition, the other after.
        cancel(cluster, before)?;
        ended(cluster, before, "CANCELLED")?;
        made(cluster, after, 8)?;
        ensure!(cluster.job(after)?.state == "SUSPENDED");
        cancel(cluster, after)?;
        ended(cluster, after, "CANCELLED")?;
        gone(cluster, before, 0)?;
        gone(cluster, after, 0)?;
        ensure!(cluster.job_output(after).is_empty(), "it ran");
        Ok(())
    })
}

/// Jobs are resumed before they have their partition, after that, and after a restart that finds one
/// partition made and one not.
#[test]
fn job_suspended_while_creating_runs_when_resumed() -> Result<()> {
    brisk().create_time(Duration::from_secs(3)).run(|cluster| {
        let jobs = [(); 4].map(|()| cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:8"]));
        let jobs: Vec<_> = jobs.into_iter().collect::<Result<_>>()?;
        let [before, after, ready, not_ready] = jobs[..] else { unreachable!("four were submitted") };
        // The create of the last job takes longer than the restart.
        let slow = Fault::new(Effect::SlowCreate { factor: 5.0 });
        cluster.mock().inject(slow.on(&main_job::partition_name(not_ready, 0)))?;
        for job in [before, after, ready, not_ready] {
            main_job::await_creating(cluster, job)?;
            suspend(cluster, job)?;
        }
        cluster.scontrol(&["resume", &before.to_string()])?;
        made(cluster, after, 8)?;
        made(cluster, ready, 8)?;
        cluster.scontrol(&["resume", &after.to_string()])?;
        for job in [before, after] {
            main_job::batch_ended(cluster, job, 8)?;
        }
        restart_slurmctld(cluster)?;
        for job in [ready, not_ready] {
            ensure!(cluster.job(job)?.state == "SUSPENDED");
            cluster.scontrol(&["resume", &job.to_string()])?;
            main_job::batch_ended(cluster, job, 8)?;
        }
        Ok(())
    })
}
