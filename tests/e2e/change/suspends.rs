//! Jobs that are stopped for a while.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, main_job, wait_until};

use crate::LIMIT;
use crate::jobs::{
    begin_again, brisk, cancel, ended, gone, is_pending_after, let_go, running, runs, staying, there_are,
    waits,
};

fn suspend(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.scontrol(&["suspend", &job.to_string()])?;
    cluster.await_job(job, "to be suspended", LIMIT, |job| job.state == "SUSPENDED").map(drop)
}

fn resume(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.scontrol(&["resume", &job.to_string()])?;
    runs(cluster, job).map(drop)
}

#[test]
fn job_suspended_has_its_ipus() -> Result<()> {
    brisk().run(|cluster| {
        let job = running(cluster, 64, &["--requeue"])?;
        suspend(cluster, job)?;
        let other = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:1"])?;
        waits(cluster, other, "1 IPU of pod64 needed, 0 free")?;
        there_are(cluster, &[(job, 0)])?;
        resume(cluster, job)?;
        let_go(cluster, job)?;
        main_job::batch_ended(cluster, job, 64)?;
        main_job::batch_ended(cluster, other, 1).map(drop)
    })
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
        cluster.await_job(requeued, "to wait again", LIMIT, |job| is_pending_after(job, 1))?;
        gone(cluster, requeued, 0)?;
        // Slurm holds what was suspended.
        begin_again(cluster, requeued)?;
        cluster.scontrol(&["release", &requeued.to_string()])?;
        runs(cluster, requeued)?;
        there_are(cluster, &[(requeued, 1)])?;
        let_go(cluster, requeued)?;
        ended(cluster, requeued, "COMPLETED").map(drop)
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
        // One before it has its partition, one after.
        cancel(cluster, before)?;
        ended(cluster, before, "CANCELLED")?;
        let made = format!("partition slurm_{after} of 8 IPUs made");
        wait_until("the other's partition", LIMIT, || Ok(cluster.slurmctld_log().contains(&made)))?;
        ensure!(cluster.job(after)?.state == "SUSPENDED");
        cancel(cluster, after)?;
        ended(cluster, after, "CANCELLED")?;
        gone(cluster, before, 0)?;
        gone(cluster, after, 0)?;
        ensure!(cluster.job_output(after).is_empty(), "it ran");
        Ok(())
    })
}

#[test]
fn job_suspended_while_creating_runs_when_resumed() -> Result<()> {
    brisk().create_time(Duration::from_secs(3)).run(|cluster| {
        let jobs =
            [8, 16].map(|ipus| cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")]));
        let [before, after] = jobs;
        let (before, after) = (before?, after?);
        for job in [before, after] {
            main_job::await_creating(cluster, job)?;
            suspend(cluster, job)?;
        }
        // One goes on before it has its partition, one after.
        cluster.scontrol(&["resume", &before.to_string()])?;
        let made = format!("partition slurm_{after} of 16 IPUs made");
        wait_until("the other's partition", LIMIT, || Ok(cluster.slurmctld_log().contains(&made)))?;
        cluster.scontrol(&["resume", &after.to_string()])?;
        main_job::batch_ended(cluster, before, 8)?;
        main_job::batch_ended(cluster, after, 16).map(drop)
    })
}

/// One has its partition when slurmctld ends, one does not.
#[test]
fn job_suspended_while_creating_runs_when_resumed_after_a_restart() -> Result<()> {
    brisk().create_time(Duration::from_secs(3)).run(|cluster| {
        let jobs =
            [8, 16].map(|ipus| cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")]));
        let [made, not_made] = jobs;
        let (made, not_made) = (made?, not_made?);
        for job in [made, not_made] {
            main_job::await_creating(cluster, job)?;
            suspend(cluster, job)?;
        }
        let line = format!("partition slurm_{made} of 8 IPUs made");
        wait_until("the first one's partition", LIMIT, || Ok(cluster.slurmctld_log().contains(&line)))?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld()?;
        for (job, ipus) in [(made, 8), (not_made, 16)] {
            ensure!(cluster.job(job)?.state == "SUSPENDED");
            cluster.scontrol(&["resume", &job.to_string()])?;
            main_job::batch_ended(cluster, job, ipus)?;
        }
        Ok(())
    })
}
