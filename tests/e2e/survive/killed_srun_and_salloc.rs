//! Commands that die while they wait for their job.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testbed::{Cluster, JobId, Running, Settings, main_job};

use crate::LIMIT;
use crate::jobs::{brisk, gone, runs, there_are};

/// The limit for Slurm to notice a dead command. Slurm looks for them twice a minute, and allows a silence of
/// InactiveLimit and MessageTimeout.
const SILENT_LIMIT: Duration = Duration::from_secs(120);

fn start(cluster: &Cluster, program: &str, name: &str) -> Result<(Running, JobId)> {
    let args = ["--gres=vipu:pod64:16", &format!("--job-name={name}"), "sleep", "1000"];
    let command = cluster.command(program).args(&args).start()?;
    let job = cluster.await_job_named(name, LIMIT)?;
    Ok((command, job))
}

/// A cluster in which jobs have their nodes while their partitions are made.
fn creating() -> Settings {
    brisk().create_time(Duration::from_secs(2)).vipu_conf("Prepare=no")
}

#[test]
fn job_of_a_terminal_that_hangs_up() -> Result<()> {
    creating().run(|cluster| {
        for program in ["salloc", "srun"] {
            let (mut command, job) = start(cluster, program, &format!("{program}-creating"))?;
            main_job::await_creating(cluster, job)?;
            // A job that ends before has no partition that could go.
            cluster.mock().await_created(&main_job::partition_name(job, 0), LIMIT)?;
            command.signal(Signal::HUP)?;
            cluster.await_end(job, LIMIT)?;
            gone(cluster, job, 0)?;
            let (mut command, job) = start(cluster, program, &format!("{program}-running"))?;
            runs(cluster, job)?;
            there_are(cluster, &[(job, 0)])?;
            command.signal(Signal::HUP)?;
            cluster.await_end(job, LIMIT)?;
            gone(cluster, job, 0)?;
        }
        Ok(())
    })
}

#[test]
fn job_of_a_salloc_that_is_killed() -> Result<()> {
    creating().slurm_conf("InactiveLimit=6").run(|cluster| {
        let (mut first, running) = start(cluster, "salloc", "running")?;
        runs(cluster, running)?;
        let (mut second, creating) = start(cluster, "salloc", "creating")?;
        main_job::await_creating(cluster, creating)?;
        first.signal(Signal::KILL)?;
        second.signal(Signal::KILL)?;
        // No message told Slurm of the deaths.
        ensure!(cluster.job(running)?.state == "RUNNING");
        for job in [running, creating] {
            let ended = cluster.await_end(job, SILENT_LIMIT)?;
            ensure!(ended.state == "TIMEOUT" && ended.reason == "InactiveLimit", "{ended:?}");
            gone(cluster, job, 0)?;
        }
        Ok(())
    })
}
