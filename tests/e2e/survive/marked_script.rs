//! A batch script that leaves a mark at its begin and at its end, for tests of jobs that have to run once.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use mock_vipu::{Effect, Fault, Rpc};
use testbed::{
    Cluster, JobId, JobView, SavedJobs, Settings, main_job, process::Process, wait_for, wait_until,
};
use vipu_client::Call;

use crate::jobs::{ended, partition};
use crate::{LIMIT, quick};

pub(super) const IPUS: &str = "--gres=vipu:pod64:16";

/// A cluster in which a job waits for its partition in CF.
pub(super) fn patient() -> Settings {
    quick().vipu_conf("Prepare=no")
}

/// Submits a job with [`script`], and saves Slurm's jobs while its partition is being made. The partition is made
/// when the mock's faults are cleared.
pub(super) fn saved_as_configuring(
    cluster: &Cluster,
    exit_code: u8,
    requeue: &str,
) -> Result<(JobId, SavedJobs)> {
    let held = Effect::HeldReply { rpc: Some(Rpc(Call::CreatePartition)) };
    cluster.mock().inject(Fault::new(held).times(1))?;
    let job = cluster.sbatch(&script(exit_code), &[IPUS, requeue])?;
    cluster.mock().await_created(&partition(job), LIMIT)?;
    cluster.await_state(job, "CONFIGURING", LIMIT)?;
    cluster.await_saved()?;
    Ok((job, cluster.saved_jobs()?))
}

/// A script that stays until [`crate::let_go`], and ends with this exit code.
pub(super) fn script(exit_code: u8) -> String {
    format!(
        "echo ${{SLURM_RESTART_COUNT:-0}} $$ >> begins.$SLURM_JOB_ID\n\
         until [ -e go ]; do sleep 0.1; done\n\
         echo ended >> ends.$SLURM_JOB_ID\n\
         exit {exit_code}"
    )
}

/// One begin of a script: the number of requeues before it, and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begin {
    pub(super) restarts: u16,
    pid: u32,
}

/// The begins of a job's script so far.
pub(super) fn begins(cluster: &Cluster, job: JobId) -> Result<Vec<Begin>> {
    let text = cluster.job_file(&format!("begins.{job}"));
    let parse = |line: &str| {
        let (restarts, pid) = line.split_once(' ').with_context(|| format!("a begin is '{line}'"))?;
        Ok(Begin { restarts: restarts.parse()?, pid: pid.parse()? })
    };
    // A last line without an end is still being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(parse).collect()
}

/// The number of ends of a job's script so far.
pub(super) fn ends(cluster: &Cluster, job: JobId) -> usize {
    cluster.job_file(&format!("ends.{job}")).lines().count()
}

/// Waits until a job's script has begun, and returns its process.
pub(super) fn begun(cluster: &Cluster, job: JobId) -> Result<Process> {
    wait_for(&format!("the script of job {job} to begin"), LIMIT, || {
        Ok(begins(cluster, job)?.first().and_then(|begin| Process::look(begin.pid)))
    })
}

/// Waits until a job's script has begun, and the journal has its launch. Returns the script's process.
pub(super) fn launched(cluster: &Cluster, job: JobId) -> Result<Process> {
    let process = begun(cluster, job)?;
    wait_until("its launch to be on record", LIMIT, || has_launch_on_record(cluster, job, 0))?;
    Ok(process)
}

/// Whether the journal has the launch of the job's run after this number of requeues.
pub(super) fn has_launch_on_record(cluster: &Cluster, job: JobId, restarts: u16) -> Result<bool> {
    let journal = fs::read_to_string(cluster.layout().state().join("vipu_journal"))?;
    let of_run = format!("\"{}\"", main_job::partition_name(job, restarts));
    Ok(journal.lines().any(|line| line.contains("launched") && line.contains(&of_run)))
}

/// Waits until the job has ended with this exit code, and checks that its script ran once.
pub(super) fn ran_once(cluster: &Cluster, job: JobId, exit_code: &str) -> Result<JobView> {
    let state = if exit_code == "0:0" { "COMPLETED" } else { "FAILED" };
    let ended = ended(cluster, job, state)?;
    ensure!(ended.exit_code == exit_code && ended.restarts == 0, "{ended:?}");
    let (begins, ends) = (begins(cluster, job)?, ends(cluster, job));
    ensure!(begins.len() == 1 && ends == 1, "begins: {begins:?}, ends: {ends}");
    Ok(ended)
}

/// Whether a job is held, which its priority tells.
pub(super) fn is_held(cluster: &Cluster, job: JobId) -> Result<bool> {
    let record = cluster.job_record(job)?;
    Ok(record.get("JobState")? == "PENDING" && record.get("Priority")? == "0")
}

pub(super) fn no_node_drains(cluster: &Cluster) -> Result<()> {
    let nodes = cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout;
    ensure!(!nodes.contains("drain"), "{nodes}");
    Ok(())
}
