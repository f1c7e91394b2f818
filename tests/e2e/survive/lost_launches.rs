//! slurmctld ends when it has launched a batch job, and the launch has not arrived at its node.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use rustix::process::Signal;
use testbed::{Cluster, JobId, SavedJobs, Settings, wait_until};
use vipu_client::Call;

use super::marked_script::{
    begins, has_launch_on_record, is_held, no_node_drains, patient, saved_as_configuring, script,
};
use crate::jobs::{begin_again, ended, gone, is_pending_after, partition};
use crate::{LIMIT, let_go};

/// The time within which a lost launch is noticed. Slurm itself looks at a node every few minutes, or never.
const SOON: Duration = Duration::from_secs(30);

/// Waits until the lost launch is made up for. Returns whether the job was launched.
fn made_up_for(cluster: &Cluster, job: JobId, otherwise: impl Fn() -> Result<bool>) -> Result<bool> {
    let mut launched = false;
    wait_until(&format!("the lost launch of job {job} to be noticed"), SOON, || {
        launched = !begins(cluster, job)?.is_empty();
        Ok(launched || otherwise()?)
    })?;
    Ok(launched)
}

/// Lets the job run to its end. No two begins may be of one run.
fn runs_once(cluster: &Cluster, job: JobId) -> Result<()> {
    let restarts = || anyhow::Ok(cluster.job(job)?.restarts);
    wait_until("the script to begin", LIMIT, || {
        let (begins, restarts) = (begins(cluster, job)?, restarts()?);
        Ok(begins.iter().any(|begin| begin.restarts == restarts))
    })?;
    let_go(cluster)?;
    ended(cluster, job, "COMPLETED")?;
    let begins = begins(cluster, job)?;
    ensure!(begins.is_sorted_by(|one, next| one.restarts < next.restarts), "{begins:?}");
    gone(cluster, job, restarts()?)?;
    no_node_drains(cluster)
}

/// Launches a job on a node whose slurmd is dead.
fn launch_into_nothing(cluster: &Cluster, requeue: &str) -> Result<(JobId, SavedJobs)> {
    let (job, saved) = saved_as_configuring(cluster, 0, requeue)?;
    cluster.kill_slurmd(1)?;
    cluster.mock().clear()?;
    wait_until("the launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 0))?;
    Ok((job, saved))
}

/// Starts slurmd and slurmctld again after a launch of which Slurm's saved state does not know.
fn lost(cluster: &Cluster, requeue: &str) -> Result<JobId> {
    let (job, saved) = launch_into_nothing(cluster, requeue)?;
    cluster.kill_slurmctld_back_at(&saved)?;
    cluster.start_node(1)?;
    cluster.start_slurmctld()?;
    Ok(job)
}

/// A cluster whose slurmctld ends with a launch on its way. From 24.11 on it reports that.
fn cut_off() -> Settings {
    patient().expect_log("agent_fini: left")
}

#[test]
fn job_restart_slurmctld_killed_before_its_launch_arrived() -> Result<()> {
    cut_off().run(|cluster| {
        let job = lost(cluster, "--requeue")?;
        if !made_up_for(cluster, job, || Ok(is_pending_after(&cluster.job(job)?, 1)))? {
            begin_again(cluster, job)?;
        }
        runs_once(cluster, job)
    })
}

#[test]
fn job_restart_slurmctld_killed_before_its_launch_without_requeue_arrived() -> Result<()> {
    cut_off().run(|cluster| {
        let job = lost(cluster, "--no-requeue")?;
        made_up_for_or_held(cluster, job)?;
        runs_once(cluster, job)
    })
}

/// A slurmctld that is stopped in order saves the job as launched, but not the message that is on its way. With
/// `--requeue`, Slurm itself would requeue the job.
#[test]
fn job_restart_slurmctld_stopped_before_its_launch_arrived() -> Result<()> {
    cut_off().run(|cluster| {
        let (job, _) = launch_into_nothing(cluster, "--no-requeue")?;
        cluster.stop_slurmctld()?;
        cluster.start_node(1)?;
        cluster.start_slurmctld()?;
        made_up_for_or_held(cluster, job)?;
        runs_once(cluster, job)
    })
}

/// Each component with IPUs has a launch on record. Their script is launched once more, not once for each.
#[test]
fn job_restart_slurmctld_stopped_before_the_launch_of_a_het_job_arrived() -> Result<()> {
    // Backfill alone starts heterogeneous jobs.
    cut_off().nodes(2).slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let components = [JobId(1), JobId(2)];
        let held = Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) };
        cluster.mock().inject(Fault::new(held).on(&partition(components[1])))?;
        let options = ["--gres=vipu:pod64:4", "--no-requeue", ":", "--gres=vipu:pod64:8"];
        let leader = cluster.sbatch(&script(0), &options)?;
        ensure!(leader == components[0], "the first job has the id {leader}");
        for job in components {
            cluster.mock().await_created(&partition(job), LIMIT)?;
        }
        cluster.await_state(components[1], "CONFIGURING", LIMIT)?;
        (1..=2).try_for_each(|node| cluster.kill_slurmd(node))?;
        cluster.mock().clear()?;
        for job in components {
            wait_until("the launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 0))?;
        }
        cluster.stop_slurmctld()?;
        (1..=2).try_for_each(|node| cluster.start_node(node))?;
        cluster.start_slurmctld()?;
        made_up_for_or_held(cluster, leader)?;
        runs_once(cluster, leader)?;
        ended(cluster, components[1], "COMPLETED")?;
        gone(cluster, components[1], cluster.job(components[1])?.restarts)
    })
}

fn made_up_for_or_held(cluster: &Cluster, job: JobId) -> Result<()> {
    if !made_up_for(cluster, job, || is_held(cluster, job))? {
        begin_again(cluster, job)?;
        cluster.scontrol(&["release", &job.to_string()])?;
    }
    Ok(())
}

/// slurmd does not begin a script whose launch it cannot answer any more. It has Slurm hold the job.
#[test]
fn job_restart_slurmctld_killed_before_its_launch_arrives_late() -> Result<()> {
    patient().run(|cluster| {
        let (job, saved) = saved_as_configuring(cluster, 0, "--requeue")?;
        let slurmd = cluster.slurmd(1)?;
        slurmd.signal(Signal::STOP)?;
        cluster.mock().clear()?;
        wait_until("the launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 0))?;
        let port = cluster.slurmd_port(1);
        wait_until("the launch to be on its way", LIMIT, || {
            Ok(cluster.slurmctld()?.is_connected_to(port)?)
        })?;
        cluster.kill_slurmctld_back_at(&saved)?;
        cluster.start_slurmctld_without_nodes()?;
        slurmd.signal(Signal::CONT)?;
        cluster.await_slurmctld()?;
        made_up_for_or_held(cluster, job)?;
        runs_once(cluster, job)
    })
}
