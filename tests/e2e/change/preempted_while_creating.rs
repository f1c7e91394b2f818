//! Jobs that make room while their partition is being made. `wait/preemption.rs` has those that run.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, Settings, main_job};

use crate::LIMIT;
use crate::jobs::{brisk, cancel, gone, is_pending_after, runs, staying};

/// In this Slurm partition jobs preempt those of the other.
const FIRST: &str = "--partition=first";

fn preempting(mode: &str) -> Settings {
    brisk()
        .create_time(Duration::from_secs(3))
        .slurm_conf("PreemptType=preempt/partition_prio")
        .slurm_conf(&format!("PreemptMode={mode}"))
        .slurm_conf("PartitionName=first Nodes=ALL PriorityTier=10")
}

/// The partition of one was made when the other's was gone.
fn came_after(cluster: &Cluster, late: JobId, early: JobId) -> Result<()> {
    let gone =
        cluster.mock().record(&main_job::partition_name(early, 0))?.removed.context("it is still there")?;
    let made = cluster.mock().record(&main_job::partition_name(late, 0))?.create_request;
    ensure!(made >= gone, "job {late} had its partition before that of {early} was gone");
    Ok(())
}

/// One has all IPUs while its partition is being made, another takes them.
fn taken(cluster: &Cluster) -> Result<[JobId; 2]> {
    let victim = staying(cluster, 64, &["--requeue"])?;
    main_job::await_creating(cluster, victim)?;
    let first = staying(cluster, 64, &[FIRST])?;
    runs(cluster, first)?;
    came_after(cluster, first, victim)?;
    ensure!(cluster.job_output(victim).is_empty(), "it ran");
    Ok([victim, first])
}

#[test]
fn job_preempted_while_creating_is_requeued() -> Result<()> {
    preempting("REQUEUE").run(|cluster| {
        let [victim, first] = taken(cluster)?;
        cluster.await_job(victim, "to wait again", LIMIT, |job| is_pending_after(job, 1))?;
        cancel(cluster, first)?;
        gone(cluster, first, 0)?;
        runs(cluster, victim).map(drop)
    })
}

#[test]
fn job_preempted_while_creating_is_cancelled() -> Result<()> {
    preempting("CANCEL").run(|cluster| {
        let [victim, _] = taken(cluster)?;
        let ended = cluster.await_end(victim, LIMIT)?;
        // 22.05 says CANCELLED of who was not launched.
        ensure!(["PREEMPTED", "CANCELLED"].contains(&ended.state.as_str()), "{ended:?}");
        Ok(())
    })
}

#[test]
fn job_preempted_while_creating_is_suspended() -> Result<()> {
    let settings = preempting("SUSPEND,GANG").cpus(2).slurm_conf("SelectTypeParameters=CR_CPU");
    let settings = settings.slurm_conf("PartitionName=low Nodes=ALL OverSubscribe=FORCE:1");
    settings.run(|cluster| {
        let args = ["--partition=low", "--cpus-per-task=2", "--gres=vipu:pod64:16"];
        let victim = cluster.sbatch(main_job::SHOW, &args)?;
        main_job::await_creating(cluster, victim)?;
        let first = cluster.sbatch("sleep 1000", &[FIRST])?;
        runs(cluster, first)?;
        cluster.await_job(victim, "to be suspended", LIMIT, |job| job.state == "SUSPENDED")?;
        let made = format!("partition slurm_{victim} of 16 IPUs made");
        testbed::wait_until("its partition", LIMIT, || Ok(cluster.slurmctld_log().contains(&made)))?;
        cancel(cluster, first)?;
        main_job::batch_ended(cluster, victim, 16).map(drop)
    })
}
