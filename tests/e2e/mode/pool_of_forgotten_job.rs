//! A slurmctld that dies before Slurm has saved the run of a job on a partition of a pool.

use std::fs;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, Settings, main_job, process::Process, wait_until};

use super::pool::{ends, knows, with_pool};
use crate::LIMIT;
use crate::jobs::{begin_again, ended, let_go, runs, staying, waits};

/// The only partition of the pool.
const ONLY: &str = "slurm_pod64_32_1";

/// A script that says which process started it, and stays.
const SCRIPT: &str = "echo $SLURM_VIPU_PARTITION $PPID\nwhile [ ! -e go ]; do sleep 0.1; done\necho went";

/// The reason of a job for which no partition is free.
const NONE_FREE: &str = "no such partition of the pool is free";

/// A cluster whose pool has one partition, and which may forget the run of a job.
fn forgetful() -> Settings {
    with_pool("32x1").expect_log("does not know of it").expect_log("Orphan ").expect_log("Registered PENDING")
}

/// Waits until the job has said which partition it has. Returns the process that started it.
fn started_by(cluster: &Cluster, job: JobId) -> Result<Process> {
    wait_until("the job to say who started it", LIMIT, || Ok(cluster.job_output(job).ends_with('\n')))?;
    let said = cluster.job_output(job);
    let (partition, parent) = said.trim().split_once(' ').context("no two words")?;
    ensure!(partition == ONLY, "{said}");
    Process::look(parent.parse()?).context("the job's parent is gone")
}

/// Kills slurmctld and starts it again, with its saved jobs from before.
fn crash(cluster: &Cluster, saved: Option<&[u8]>) -> Result<()> {
    cluster.kill_slurmctld()?;
    if let Some(saved) = saved {
        fs::write(cluster.layout().state().join("job_state"), saved)?;
    }
    cluster.start_slurmctld()
}

#[test]
fn mode_pool_gives_a_forgotten_job_its_partition_again() -> Result<()> {
    forgetful().run(|cluster| {
        knows(cluster, 32)?;
        let job = cluster.sbatch(SCRIPT, &["--gres=vipu:pod64:32", "--requeue", "--begin=now+1hour"])?;
        cluster.await_saved()?;
        let in_line = fs::read(cluster.layout().state().join("job_state"))?;
        begin_again(cluster, job)?;
        let first = started_by(cluster, job)?;
        crash(cluster, Some(&in_line))?;
        // Slurm ends the run that it does not know of.
        wait_until("the end of the first run", LIMIT, || Ok(!first.exists()))?;
        let other = staying(cluster, 32, &[])?;
        waits(cluster, other, NONE_FREE)?;
        cluster.await_saved()?;
        crash(cluster, None)?;
        waits(cluster, other, NONE_FREE)?;
        fs::remove_file(cluster.layout().jobs().join(format!("{job}.out")))?;
        begin_again(cluster, job)?;
        started_by(cluster, job)?;
        fs::write(cluster.layout().jobs().join("go"), "")?;
        ended(cluster, job, "COMPLETED")?;
        ended(cluster, other, "COMPLETED")?;
        ends(cluster, &[ONLY])
    })
}

/// Nobody gets the partition of a job that Slurm never saved until an administrator says that its processes are gone.
#[test]
fn mode_pool_keeps_the_partition_of_an_unknown_job() -> Result<()> {
    forgetful().run(|cluster| {
        knows(cluster, 32)?;
        let unknown = cluster.sbatch(SCRIPT, &["--gres=vipu:pod64:32"])?;
        let run = started_by(cluster, unknown)?;
        cluster.kill_slurmctld()?;
        cluster.lose_state()?;
        cluster.start_slurmctld()?;
        wait_until("the end of the unknown job", LIMIT, || Ok(!run.exists()))?;
        cluster.await_nodes()?;
        // Slurm counts jobs from one again. A job of the same id and user would get the partition.
        let first = cluster.sbatch("true", &[])?;
        ended(cluster, first, "COMPLETED")?;
        let other = staying(cluster, 32, &[])?;
        waits(cluster, other, NONE_FREE)?;
        cluster.await_saved()?;
        crash(cluster, None)?;
        waits(cluster, other, NONE_FREE)?;
        let free = ["partition", "free", ONLY, "--reason", "no process is left"];
        crate::see::steering::steer(cluster, &free)?;
        runs(cluster, other)?;
        let_go(cluster, other)?;
        ensure!(
            main_job::Shown::parse(&cluster.job_output(other))?.environment["SLURM_VIPU_PARTITION"] == ONLY
        );
        ends(cluster, &[ONLY])
    })
}
