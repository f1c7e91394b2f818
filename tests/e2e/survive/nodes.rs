//! Nodes that are drained, die, or are powered down.

use std::time::Duration;

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, Settings, main_job, next_second};

use crate::jobs::{
    begin_again, brisk, cancel, ended, gone, let_go, made, restart_slurmctld, running, runs, staying,
    there_are, waits_again,
};

const FIRST: &str = "--nodelist=ipu-pod64-001";

fn two() -> Settings {
    brisk().nodes(2)
}

#[test]
fn job_on_a_node_that_is_drained() -> Result<()> {
    two().create_time(Duration::from_secs(2)).run(|cluster| {
        let early = staying(cluster, 16, &[FIRST])?;
        main_job::await_creating(cluster, early)?;
        cluster.update_node(1, &["State=DRAIN", "Reason=test"])?;
        // The job that has the node keeps it.
        runs(cluster, early)?;
        let waiting = cluster.sbatch(main_job::SHOW, &[FIRST, "--gres=vipu:pod64:16"])?;
        let elsewhere = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        main_job::batch_ended(cluster, elsewhere, 16)?;
        ensure!(cluster.job(elsewhere)?.nodes == "ipu-pod64-002");
        there_are(cluster, &[(early, 0)])?;
        let_go(cluster, early)?;
        main_job::batch_ended(cluster, early, 16)?;
        cluster.await_node(1, |state| state == "IDLE+DRAIN")?;
        ensure!(cluster.job(waiting)?.state == "PENDING");
        ensure!(cluster.mock().record(&format!("slurm_{waiting}")).is_err(), "it has no node yet");
        cluster.update_node(1, &["State=RESUME"])?;
        main_job::batch_ended(cluster, waiting, 16).map(drop)
    })
}

/// Two nodes that may die. The last message of a dead node may come late, and must not bring it back.
fn mortal() -> Settings {
    two().slurm_conf("ReturnToService=0").expect_log("not responding")
}

/// Kills the first node and tells Slurm, which would need minutes to notice.
fn dies(cluster: &Cluster) -> Result<()> {
    cluster.kill_slurmd(1)?;
    cluster.update_node(1, &["State=DOWN", "Reason=test"])
}

/// Checks that a job that the node's death requeued runs on the other node.
fn runs_elsewhere(cluster: &Cluster, job: JobId) -> Result<()> {
    waits_again(cluster, job, 1)?;
    gone(cluster, job, 0)?;
    begin_again(cluster, job)?;
    runs(cluster, job)?;
    let there = cluster.job(job)?;
    ensure!(there.nodes == "ipu-pod64-002", "{there:?}");
    there_are(cluster, &[(job, 1)])?;
    let_go(cluster, job)
}

#[test]
fn job_on_a_node_that_dies_is_requeued() -> Result<()> {
    mortal().run(|cluster| {
        let requeued = running(cluster, 16, &["--requeue"])?;
        ensure!(cluster.job(requeued)?.nodes == "ipu-pod64-001");
        let failing = running(cluster, 16, &[FIRST, "--no-requeue"])?;
        dies(cluster)?;
        ended(cluster, failing, "NODE_FAIL")?;
        gone(cluster, failing, 0)?;
        runs_elsewhere(cluster, requeued)
    })
}

#[test]
fn job_on_a_node_that_dies_while_its_partition_is_made() -> Result<()> {
    mortal().create_time(Duration::from_secs(4)).run(|cluster| {
        let job = staying(cluster, 16, &["--requeue"])?;
        main_job::await_creating(cluster, job)?;
        ensure!(cluster.job(job)?.nodes == "ipu-pod64-001");
        dies(cluster)?;
        runs_elsewhere(cluster, job)
    })
}

#[test]
fn job_on_two_nodes_of_which_one_dies() -> Result<()> {
    let settings = mortal().expect_log("Removing failed node").expect_log("_step_partial_comp");
    settings.run(|cluster| {
        let job = running(cluster, 16, &["-N2", "--no-kill", "--no-requeue"])?;
        let both = running(cluster, 16, &["-N2", "--no-requeue"])?;
        dies(cluster)?;
        ended(cluster, both, "NODE_FAIL")?;
        gone(cluster, both, 0)?;
        // The job that goes on with the other node keeps its IPUs.
        there_are(cluster, &[(job, 0)])?;
        cancel(cluster, job)?;
        gone(cluster, job, 0)
    })
}

/// Nodes that Slurm may power down. The test itself acts as their power supply.
fn powered() -> Settings {
    brisk()
        .slurm_conf("SuspendProgram=/bin/true")
        .slurm_conf("ResumeProgram=/bin/true")
        .slurm_conf("SuspendTime=3600")
        .slurm_conf("SuspendTimeout=1")
        .slurm_conf("ResumeTimeout=120")
        .slurm_conf("ResumeRate=0")
        .slurm_conf("SuspendRate=0")
}

fn power_down(cluster: &Cluster) -> Result<()> {
    cluster.update_node(1, &["State=POWER_DOWN_FORCE"])?;
    cluster.kill_slurmd(1)?;
    cluster.await_node(1, |state| state.contains("POWERED_DOWN"))
}

/// Slurm works out the time of a boot in whole seconds, up to one second too early. If this time is before the request to
/// power up, slurmctld waits for the node's next message, which can take minutes.
fn boots(cluster: &Cluster) -> Result<()> {
    cluster.await_node(1, |state| state.contains("POWERING_UP"))?;
    next_second()?;
    cluster.boot_slurmd(1)
}

#[test]
fn job_on_a_node_that_is_powered_up_for_it() -> Result<()> {
    powered().run(|cluster| {
        power_down(cluster)?;
        let job = staying(cluster, 16, &[])?;
        // The partition is made while the node boots.
        made(cluster, job, 16)?;
        ensure!(cluster.job(job)?.state == "CONFIGURING");
        boots(cluster)?;
        runs(cluster, job)?;
        // Slurm has let the job's time begin when the node was up. To the next slurmctld it is still one run.
        restart_slurmctld(cluster)?;
        there_are(cluster, &[(job, 0)])?;
        let_go(cluster, job)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_on_a_node_that_is_up_before_the_partition() -> Result<()> {
    powered().create_time(Duration::from_secs(8)).run(|cluster| {
        power_down(cluster)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        boots(cluster)?;
        cluster.await_node(1, |state| !state.contains("POWERING_UP"))?;
        ensure!(cluster.mock().record(&format!("slurm_{job}"))?.active.is_none(), "it was made before");
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_cancelled_while_its_node_is_powered_up() -> Result<()> {
    powered().run(|cluster| {
        power_down(cluster)?;
        let job = staying(cluster, 16, &[])?;
        made(cluster, job, 16)?;
        cancel(cluster, job)?;
        ended(cluster, job, "CANCELLED")?;
        gone(cluster, job, 0)
    })
}
