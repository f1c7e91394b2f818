//! Jobs that go back to the queue.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{JobView, main_job};

use crate::LIMIT;
use crate::jobs::{
    begin_again, brisk, ended, gone, is_pending_after, let_go, running, runs, staying, there_are, waits_again,
};

/// The number of requeues.
const TIMES: u16 = 4;

#[test]
fn job_requeue_again_and_again() -> Result<()> {
    brisk().run(|cluster| {
        let job = running(cluster, 64, &["--requeue"])?;
        for restarts in 1..=TIMES {
            cluster.scontrol(&["requeue", &job.to_string()])?;
            waits_again(cluster, job, restarts)?;
            begin_again(cluster, job)?;
            runs(cluster, job)?;
            there_are(cluster, &[(job, restarts)])?;
        }
        let_go(cluster, job)?;
        gone(cluster, job, TIMES)?;
        let made = cluster.mock().report()?.partitions.len();
        ensure!(made == usize::from(TIMES) + 1, "{made} partitions were made");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&main_job::partition_name(job, TIMES), 64)
    })
}

/// Nothing of the run is left while the job is held. The job starts when it is released.
#[test]
fn job_requeuehold_while_creating() -> Result<()> {
    brisk().create_time(Duration::from_secs(2)).run(|cluster| {
        let job = staying(cluster, 32, &["--requeue"])?;
        main_job::await_creating(cluster, job)?;
        // A job that ends before has no partition that could go.
        cluster.mock().await_created(&main_job::partition_name(job, 0), LIMIT)?;
        cluster.scontrol(&["requeuehold", &job.to_string()])?;
        let is_held = |job: &JobView| is_pending_after(job, 1) && job.reason.contains("held");
        cluster.await_job(job, "to be held", LIMIT, is_held)?;
        gone(cluster, job, 0)?;
        there_are(cluster, &[])?;
        // The job's IPUs are free meanwhile.
        main_job::sbatch(cluster, 64)?;
        begin_again(cluster, job)?;
        cluster.scontrol(&["release", &job.to_string()])?;
        runs(cluster, job)?;
        there_are(cluster, &[(job, 1)])?;
        let_go(cluster, job)?;
        main_job::Shown::parse(&cluster.job_output(job))?.check(&main_job::partition_name(job, 1), 32)
    })
}

#[test]
fn job_requeue_of_an_ended_or_ending_job() -> Result<()> {
    brisk().remove_time(Duration::from_secs(5)).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--requeue", "--gres=vipu:pod64:64"])?;
        for restarts in [1, 2] {
            match restarts {
                1 => ended(cluster, job, "COMPLETED")?,
                _ => cluster.await_job(job, "to be ending", LIMIT, |job| job.state == "COMPLETING")?,
            };
            cluster.scontrol(&["requeue", &job.to_string()])?;
            waits_again(cluster, job, restarts)?;
            gone(cluster, job, restarts - 1)?;
            begin_again(cluster, job)?;
        }
        ended(cluster, job, "COMPLETED")?;
        gone(cluster, job, 2)?;
        main_job::Shown::parse(&cluster.job_output(job))?.check(&main_job::partition_name(job, 2), 64)
    })
}

/// No scheduler looks at the queue by itself during this test: the plugin wakes one when the job may begin.
#[test]
fn job_requeued_while_creating_does_not_wait_for_a_pass_of_the_schedulers() -> Result<()> {
    let seldom = "SchedulerParameters=bf_interval=600,sched_interval=600";
    crate::slow(2).slurm_conf(seldom).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16", "--requeue"])?;
        main_job::await_creating(cluster, job)?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.restarts == 1, "{ended:?}");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&main_job::partition_name(job, 1), 16)
    })
}
