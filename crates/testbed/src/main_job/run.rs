//! One job with IPUs, from its submit to nothing left of it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{SHOW, Shown};
use crate::{Cluster, JobId, Running, wait_until};

/// How long a job may take on an idle cluster, its partition's creation included.
const JOB_LIMIT: Duration = Duration::from_secs(150);

/// What a job with IPUs came to.
#[derive(Clone, Debug)]
pub struct IpuRun {
    /// The job.
    pub job: JobId,
    /// How it was submitted.
    pub by: &'static str,
    /// The size of its partition.
    pub ipus: u32,
    /// The name of its partition.
    pub partition: String,
    /// From the create call until the partition was ACTIVE.
    pub create: Duration,
    /// From then until the job's first command.
    pub ready_to_start: Duration,
    /// How it ended.
    pub state: String,
}

/// `sbatch`: the job is seen CONFIGURING while its partition is made.
///
/// # Errors
/// When anything about the job is not as it must be.
pub fn batch(cluster: &Cluster, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    await_creating(cluster, job)?;
    batch_ended(cluster, job, ipus)
}

/// `sbatch`, where a partition is made too fast for squeue to be sure to show it.
///
/// # Errors
/// As [`batch`].
pub fn sbatch(cluster: &Cluster, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    batch_ended(cluster, job, ipus)
}

/// Waits for the end of a batch job that runs [`SHOW`], and accounts for it.
///
/// # Errors
/// As [`account`].
pub fn batch_ended(cluster: &Cluster, job: JobId, ipus: u32) -> Result<IpuRun> {
    cluster.await_end(job, JOB_LIMIT)?;
    account(cluster, job, "sbatch", ipus, &cluster.job_output(job))
}

/// `srun`.
///
/// # Errors
/// As [`batch`].
pub fn srun(cluster: &Cluster, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "srun", ipus)
}

/// `salloc`.
///
/// # Errors
/// As [`batch`].
pub fn salloc(cluster: &Cluster, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "salloc", ipus)
}

/// A job whose user waits for it. What `salloc` runs is no task of Slurm's, so that its command is a step.
fn attended(cluster: &Cluster, by: &'static str, ipus: u32) -> Result<IpuRun> {
    let name = format!("{by}-{ipus}");
    let command = cluster.command(by).args(&[&gres(ipus), &format!("--job-name={name}")]);
    let shell = ["bash", "-c", SHOW];
    let running: Running = match by {
        "salloc" => command.args(&["srun"]).args(&shell).start()?,
        _ => command.args(&shell).start()?,
    };
    let job = cluster.await_job_named(&name, JOB_LIMIT)?;
    let output = running.success(JOB_LIMIT)?;
    cluster.await_end(job, JOB_LIMIT)?;
    account(cluster, job, by, ipus, &output.stdout)
}

/// Waits until squeue shows the job as CF while its partition is being made.
///
/// # Errors
/// When it does not.
pub fn await_creating(cluster: &Cluster, job: JobId) -> Result<()> {
    wait_until(&format!("squeue to show job {job} as CF"), JOB_LIMIT, || {
        let state = cluster.command("squeue").args(&["-h", "-o", "%t", "-j", &job.to_string()]).success()?;
        let state = state.stdout.trim().to_owned();
        ensure!(
            ["PD", "CF"].contains(&state.as_str()),
            "the job is '{state}' before its partition is ACTIVE"
        );
        Ok(state == "CF")
    })
}

/// Checks what a job printed with [`SHOW`], waits until its partition and its file are gone, and adds up.
///
/// # Errors
/// When anything is not as it must be.
pub fn account(cluster: &Cluster, job: JobId, by: &'static str, ipus: u32, output: &str) -> Result<IpuRun> {
    let partition = format!("slurm_{job}");
    let shown = Shown::parse(output).with_context(|| format!("job {job} ({by})"))?;
    shown.check(&partition, ipus).with_context(|| format!("job {job} ({by})"))?;
    let gone = format!("partition {partition} and its file to go");
    wait_until(&gone, JOB_LIMIT, || {
        let left = cluster.mock().partitions()?.contains(&partition);
        Ok(!left && !cluster.ipuof_files()?.contains(&format!("{partition}.conf")))
    })?;
    let record = cluster.mock().record(&partition)?;
    let active = record.active.with_context(|| format!("{partition} was never ACTIVE"))?;
    ensure!(shown.started >= active.0, "job {job} started before its partition was ACTIVE");
    let state = cluster.job(job)?.state;
    ensure!(state == "COMPLETED", "job {job} ended {state}");
    Ok(IpuRun {
        job,
        by,
        ipus,
        partition,
        create: active.since(record.create_request),
        ready_to_start: Duration::from_nanos(shown.started - active.0),
        state,
    })
}

/// What the partition of a job is called after so many requeues.
#[must_use]
pub fn partition_name(job: JobId, restarts: u16) -> String {
    match restarts {
        0 => format!("slurm_{job}"),
        k => format!("slurm_{job}r{k}"),
    }
}

fn gres(ipus: u32) -> String {
    format!("--gres=vipu:pod64:{ipus}")
}
