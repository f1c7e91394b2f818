//! Jobs that are cancelled.

use std::time::Instant;

use anyhow::{Result, ensure};
use testbed::main_job;

use crate::jobs::{cancel, ended, gone, running};
use crate::{LIMIT, quick, slow};

#[test]
fn job_cancel_while_creating() -> Result<()> {
    slow(3).run(|cluster| {
        let job = cluster.sbatch("echo it ran", &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        let record = cluster.mock().await_created(&format!("slurm_{job}"), LIMIT)?;
        let cancelled = Instant::now();
        cancel(cluster, job)?;
        let ended = cluster.await_end(job, LIMIT)?;
        println!("the job was over {:?} after scancel", cancelled.elapsed());
        ensure!(ended.state == "CANCELLED" && !ended.reason.contains("vipu"), "{ended:?}");
        let gone = cluster.mock().await_removed(&record.id, LIMIT)?;
        ensure!(gone.remove_request.is_some_and(|removed| removed > gone.create_request), "{gone:?}");
        ensure!(!cluster.job_output(job).contains("it ran"));
        Ok(())
    })
}

#[test]
fn job_cancel_while_running() -> Result<()> {
    quick().run(|cluster| {
        let job = running(cluster, 16, &[])?;
        cancel(cluster, job)?;
        ended(cluster, job, "CANCELLED")?;
        gone(cluster, job, 0)
    })
}
