//! A slurmctld that dies before Slurm has saved the run of a job on a partition of a pool.

use std::fs;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use testbed::{Cluster, JobId, Settings, main_job, process::Process, wait_until};

use super::pool::{NONE_FREE, ends, knows, with_pool};
use crate::LIMIT;
use crate::jobs::{begin_again, ended, let_go, runs, staying, waits};

/// The only partition of the pool.
pub(super) const ONLY: &str = "slurm_pod64_32_1";

/// A script that says which process started it, and stays.
pub(super) const SCRIPT: &str =
    "echo $SLURM_VIPU_PARTITION $PPID\nwhile [ ! -e end ]; do sleep 0.1; done\necho went";

/// The node of the job that is forgotten, and the node of the other job.
const NODES: [&str; 2] = ["--nodelist=ipu-pod64-001", "--nodelist=ipu-pod64-002"];

/// A cluster whose pool has one partition, and which may forget the run of a job.
pub(super) fn forgetful() -> Settings {
    let settings = with_pool("32x1").nodes(2).expect_log("not responding").expect_log("Orphan ");
    // The stopped node is asked which jobs run there.
    settings.expect_log("Registered PENDING").expect_log("Socket timed out")
}

/// Lets the script end.
pub(super) fn goes(cluster: &Cluster) -> Result<()> {
    Ok(fs::write(cluster.layout().jobs().join("end"), "")?)
}

/// Waits until the job has said which partition it has. Returns the process that started it.
pub(super) fn started_by(cluster: &Cluster, job: JobId) -> Result<Process> {
    wait_until("the job to say who started it", LIMIT, || Ok(cluster.job_output(job).ends_with('\n')))?;
    let said = cluster.job_output(job);
    let (partition, parent) = said.trim().split_once(' ').context("no two words")?;
    ensure!(partition == ONLY, "{said}");
    Process::look(parent.parse()?).context("the job's parent is gone")
}

/// Kills slurmctld, changes its saved state, and starts it again while the first node is silent. Checks that another job
/// gets the partition when the node has told that the script is gone, and not before, over two starts. `end` ends the
/// script if Slurm does not.
fn is_kept_until_the_node_has_told(
    cluster: &Cluster,
    first: &Process,
    change: impl FnOnce() -> Result<()>,
    end: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let slurmd = cluster.slurmd(1)?;
    slurmd.signal(Signal::STOP)?;
    cluster.kill_slurmctld()?;
    change()?;
    cluster.start_slurmctld_without_nodes()?;
    // Slurm may count jobs from one again. A job with the id of the first one waits for its node, too.
    cluster.sbatch("true", &NODES[1..])?;
    let other = staying(cluster, 32, &NODES[1..])?;
    waits(cluster, other, NONE_FREE)?;
    cluster.await_saved()?;
    cluster.kill_slurmctld()?;
    cluster.start_slurmctld_without_nodes()?;
    waits(cluster, other, NONE_FREE)?;
    ensure!(first.exists(), "the script has ended while its slurmd was stopped");
    slurmd.signal(Signal::CONT)?;
    end()?;
    runs(cluster, other)?;
    ensure!(!first.exists(), "another job has the partition, and the script still runs");
    let_go(cluster, other)?;
    let environment = main_job::Shown::parse(&cluster.job_output(other))?.environment;
    ensure!(environment["SLURM_VIPU_PARTITION"] == ONLY, "{environment:?}");
    cluster.await_nodes()
}

#[test]
fn mode_pool_keeps_the_partition_of_a_job_that_slurm_has_in_line() -> Result<()> {
    forgetful().run(|cluster| {
        knows(cluster, 32)?;
        let options = ["--gres=vipu:pod64:32", "--requeue", "--begin=now+1hour", NODES[0]];
        let job = cluster.sbatch(SCRIPT, &options)?;
        cluster.await_saved()?;
        let state = cluster.layout().state().join("job_state");
        let in_line = fs::read(&state)?;
        begin_again(cluster, job)?;
        let first = started_by(cluster, job)?;
        is_kept_until_the_node_has_told(cluster, &first, || Ok(fs::write(state, in_line)?), || Ok(()))?;
        begin_again(cluster, job)?;
        goes(cluster)?;
        let ended = ended(cluster, job, "COMPLETED")?;
        ensure!(ended.restarts == 1, "{ended:?}");
        ends(cluster, &[ONLY])
    })
}

#[test]
fn mode_pool_keeps_the_partition_of_an_unknown_job() -> Result<()> {
    // 26.05 looks for the job by its SLUID, too.
    forgetful().expect_log("sent from wrong node").expect_log("by SLUID but could by job_id").run(|cluster| {
        knows(cluster, 32)?;
        let unknown = cluster.sbatch(SCRIPT, &["--gres=vipu:pod64:32", NODES[0]])?;
        cluster.may_be_lost(unknown);
        let first = started_by(cluster, unknown)?;
        // Slurm takes the script for that of the job with this id, which has just ended.
        is_kept_until_the_node_has_told(cluster, &first, || cluster.lose_state(), || goes(cluster))?;
        ends(cluster, &[ONLY])
    })
}
