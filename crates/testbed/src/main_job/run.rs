//! One job with IPUs, from its submit until its partition and file are gone.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{SHOW, Shown};
use crate::{Cluster, Hosts, JobId, wait_for, wait_until};

/// The longest time for a job on an idle cluster, with the create of its partition. A busy machine needs many
/// times the time of a quiet one.
const JOB_LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct IpuRun {
    pub job: JobId,
    pub by: &'static str,
    pub ipus: u32,
    pub partition: String,
    /// The time from the create call until the partition was ACTIVE.
    pub create: Duration,
    /// The time from ACTIVE until the job's first command.
    pub ready_to_start: Duration,
    pub state: String,
}

/// Runs a job by `sbatch`, and checks that squeue shows it CONFIGURING while its partition is made.
pub fn batch<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    await_creating(cluster, job)?;
    batch_ended(cluster, job, ipus)
}

/// Runs a job by `sbatch`, for partitions that are made too fast for squeue to show CONFIGURING.
pub fn sbatch<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    let job = cluster.sbatch(SHOW, &[&gres(ipus)])?;
    batch_ended(cluster, job, ipus)
}

pub fn batch_ended<H: Hosts>(cluster: &Cluster<H>, job: JobId, ipus: u32) -> Result<IpuRun> {
    cluster.await_end(job, JOB_LIMIT)?;
    check_run(cluster, job, "sbatch", ipus, &cluster.job_output(job))
}

pub fn srun<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "srun", ipus)
}

pub fn salloc<H: Hosts>(cluster: &Cluster<H>, ipus: u32) -> Result<IpuRun> {
    attended(cluster, "salloc", ipus)
}

/// Runs a job whose user waits for it. The command of `salloc` is not a task of Slurm's, so salloc runs it as
/// a step by srun.
fn attended<H: Hosts>(cluster: &Cluster<H>, by: &'static str, ipus: u32) -> Result<IpuRun> {
    let name = format!("{by}-{ipus}");
    let command = cluster.command(by).args(&[&gres(ipus), &format!("--job-name={name}")]);
    let step: &[&str] = if by == "salloc" { &["srun"] } else { &[] };
    let running = command.args(step).args(&["bash", "-c", SHOW]).start()?;
    let job = cluster.await_job_named(&name, JOB_LIMIT)?;
    let output = running.success(JOB_LIMIT)?;
    cluster.await_end(job, JOB_LIMIT)?;
    check_run(cluster, job, by, ipus, &output.stdout)
}

/// Waits until squeue shows the job as CF. Fails if the partition is ACTIVE first.
pub fn await_creating<H: Hosts>(cluster: &Cluster<H>, job: JobId) -> Result<()> {
    ensure!(is_seen_creating(cluster, job)?, "job {job} had its partition before squeue was asked");
    Ok(())
}

/// Asks squeue until the job is CF or its partition is ACTIVE, which may come first on a busy machine.
/// Returns whether CF was seen. Any other state is an error while the partition is not ACTIVE.
pub fn is_seen_creating<H: Hosts>(cluster: &Cluster<H>, job: JobId) -> Result<bool> {
    wait_for(&format!("squeue to show job {job} as CF"), JOB_LIMIT, || {
        match cluster.squeue(job, "%t")?.as_str() {
            "CF" => Ok(Some(true)),
            "PD" => Ok(None),
            state => {
                let report = cluster.mock().report()?;
                let partition = report.partition(&partition_name(job, 0));
                let is_up = partition.is_some_and(|record| record.active.is_some());
                ensure!(is_up, "the job is '{state}' before its partition is ACTIVE");
                Ok(Some(false))
            }
        }
    })
}

/// Checks the job's output of [`SHOW`], waits until its partition and its file are gone, and returns the
/// outcome.
pub fn check_run<H: Hosts>(
    cluster: &Cluster<H>,
    job: JobId,
    by: &'static str,
    ipus: u32,
    output: &str,
) -> Result<IpuRun> {
    let shown = Shown::parse(output).with_context(|| format!("job {job} ({by})"))?;
    let partition = shown.partition()?.to_owned();
    ensure!(is_of_run(&partition, job, 0), "job {job} has partition {partition}");
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

/// Whether this is the name of a partition of the job after `restarts` requeues: the first partition or a
/// further one.
pub fn is_of_run(partition: &str, job: JobId, restarts: u16) -> bool {
    let further = partition.strip_prefix(&partition_name(job, restarts));
    further.is_some_and(|further| further.is_empty() || further.starts_with('p'))
}

/// The name of the job's first partition after `restarts` requeues.
pub fn partition_name(job: JobId, restarts: u16) -> String {
    match restarts {
        0 => format!("slurm_{job}"),
        k => format!("slurm_{job}r{k}"),
    }
}

fn gres(ipus: u32) -> String {
    format!("--gres=vipu:pod64:{ipus}")
}
