//! slurmctld ends in order while partitions become ready. The next slurmctld launches their jobs.
//!
//! A slurmctld that ends sends no launch any more. How much of its end is behind it decides whether it still
//! saves that a job was launched.

use std::{fs, time::Duration};

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{Account, Cluster, SlowFile, wait_until};
use vipu_client::Call;

use super::marked_script::{patient, ran_once, script};
use crate::jobs::{gone, logged, made, partition, resets};
use crate::mode::pool::{administrator_makes, ends, with_pool};
use crate::{LIMIT, let_go, quick};

/// slurm-vipu has to see a reset under way after its answer, which comes when slurmctld has begun to end.
const LONG_RESET: [&str; 1] = ["--reset-latency=5s"];

/// The time in which a launch would come. It comes some milliseconds after its partition is ready.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Holds the controller's answers to this call.
fn hold(cluster: &Cluster, call: Call) -> Result<()> {
    cluster.mock().inject(Fault::new(Effect::HeldReply { rpc: Some(Rpc(call)) }))
}

/// Ends slurmctld and, while it ends, sends the held answers and waits until `ready`. Then starts slurmctld again.
fn restart_while(cluster: &Cluster, at: SlowFile, ready: impl FnOnce() -> Result<()>) -> Result<()> {
    let journal = cluster.layout().state().join("vipu_journal");
    let launches = || anyhow::Ok(fs::read_to_string(&journal)?.matches("launched").count());
    let before = launches()?;
    let end = cluster.stop_slurmctld_slowly(at)?;
    cluster.mock().clear()?;
    ready()?;
    let launched = wait_until("a launch on record", AT_ONCE, || Ok(launches()? > before));
    end.go_on(cluster)?;
    cluster.start_slurmctld()?;
    ensure!(launched.is_err(), "a slurmctld that was ending has a launch on record");
    Ok(())
}

fn batch_and_array(at: SlowFile) -> Result<()> {
    patient().run(|cluster| {
        hold(cluster, Call::CreatePartition)?;
        let batch = cluster.sbatch(&script(3), &["--gres=vipu:pod64:16", "--no-requeue"])?;
        let array = cluster.sbatch(&script(0), &["--gres=vipu:pod64:8", "--array=0-1"])?;
        let mut jobs = Vec::new();
        wait_until("all jobs to have nodes", LIMIT, || {
            jobs = cluster.jobs()?.into_iter().filter(|job| job.state == "CONFIGURING").collect();
            Ok(jobs.len() == 3)
        })?;
        let tasks: Vec<_> = jobs.iter().filter(|job| job.array == Some(array)).map(|job| job.id).collect();
        for job in &jobs {
            cluster.mock().await_created(&partition(job.id), LIMIT)?;
        }
        restart_while(cluster, at, || {
            tasks.iter().try_for_each(|task| made(cluster, *task, 8))?;
            made(cluster, batch, 16)
        })?;
        let_go(cluster)?;
        ran_once(cluster, batch, "3:0")?;
        tasks.iter().try_for_each(|task| ran_once(cluster, *task, "0:0").map(drop))?;
        jobs.iter().try_for_each(|job| gone(cluster, job.id, 0))
    })
}

#[test]
fn job_restart_slurmctld_before_it_saves_its_jobs() -> Result<()> {
    batch_and_array(SlowFile::BeforeJobs)
}

#[test]
fn job_restart_slurmctld_after_it_has_saved_its_jobs() -> Result<()> {
    batch_and_array(SlowFile::AfterJobs)
}

#[test]
fn job_restart_slurmctld_while_a_waiting_job_is_prepared() -> Result<()> {
    // A job that backfill starts is not prepared.
    let settings =
        quick().vipu_conf("Prepare=all").slurm_conf("SchedulerParameters=bf_interval=3600,sched_interval=1");
    settings.run(|cluster| {
        hold(cluster, Call::CreatePartition)?;
        let job = cluster.sbatch(&script(3), &["--gres=vipu:pod64:16"])?;
        cluster.mock().await_created(&partition(job), LIMIT)?;
        restart_while(cluster, SlowFile::AfterJobs, || made(cluster, job, 16))?;
        let_go(cluster)?;
        ran_once(cluster, job, "3:0")?;
        gone(cluster, job, 0)
    })
}

/// Submits a job that gets this partition after a reset, and restarts slurmctld when the reset is over.
fn restart_while_reset(cluster: &Cluster, partition: &str) -> Result<()> {
    hold(cluster, Call::ResetPartition)?;
    let job = cluster.sbatch(&script(3), &["--gres=vipu:pod64:16"])?;
    wait_until("the reset", LIMIT, || Ok(resets(cluster, partition)? > 0))?;
    let is_reset = format!("partition {partition} of 16 IPUs reused");
    restart_while(cluster, SlowFile::AfterJobs, || logged(cluster, &is_reset))?;
    let_go(cluster)?;
    ran_once(cluster, job, "3:0").map(drop)
}

#[test]
fn reuse_restart_slurmctld_while_an_idle_partition_is_reset_for_a_job() -> Result<()> {
    let settings = patient().mock(&LONG_RESET).vipu_conf("KeepIdle=10").vipu_conf("KeepIdleFor=any-job");
    settings.vipu_conf("ReuseReset=other-users").vipu_conf("ReconcileInterval=1").run(|cluster| {
        let before = cluster.sbatch_command("true", &["--gres=vipu:pod64:16"])?;
        let before = partition(cluster.submit(before.account(&Account::named("daemon")?))?);
        logged(cluster, &format!("partition {before} stays idle"))?;
        restart_while_reset(cluster, &before)
    })
}

#[test]
fn mode_pool_restart_slurmctld_while_a_partition_is_reset_for_a_job() -> Result<()> {
    with_pool("p16_*").mock(&LONG_RESET).run(|cluster| {
        administrator_makes(cluster, &[("p16_a", 16)])?;
        restart_while_reset(cluster, "p16_a")?;
        ends(cluster, &["p16_a"])
    })
}
