//! slurmctld reads its configuration again, or is another process.

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};

use crate::{LIMIT, let_go, quick, slow, stay};

#[test]
fn job_reconfigure_while_creating() -> Result<()> {
    slow(2).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        cluster.reconfigure()?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_restart_slurmctld_while_creating() -> Result<()> {
    slow(4).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        restart(cluster)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_restart_slurmctld_while_running() -> Result<()> {
    quick().run(|cluster| {
        let job = stay(cluster, 16)?;
        restart(cluster)?;
        ensure!(cluster.mock().partitions()? == [format!("slurm_{job}")]);
        // The IPUs of the running job still count as used.
        let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:64"])?;
        let named = |reason: &str| reason.contains("48_free");
        cluster.await_job(waiting, "to say why it waits", LIMIT, |job| named(&job.reason))?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16)?;
        cluster.await_end(waiting, LIMIT).map(drop)
    })
}

fn restart(cluster: &Cluster) -> Result<()> {
    cluster.stop_slurmctld()?;
    cluster.start_slurmctld()
}
