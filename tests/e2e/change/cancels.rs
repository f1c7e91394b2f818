//! Jobs that are cancelled.

use std::time::Instant;

use anyhow::{Result, ensure};
use testbed::main_job;

use crate::jobs::{cancel, ended, gone, running};
use crate::{LIMIT, slow};

#[test]
fn job_cancel_while_creating_and_running() -> Result<()> {
    slow(3).run(|cluster| {
        let job = cluster.sbatch("echo it ran", &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        let record = cluster.mock().await_created(&format!("slurm_{job}"), LIMIT)?;
        let cancelled = Instant::now();
        cancel(cluster, job)?;
        let over = cluster.await_end(job, LIMIT)?;
        println!("the job was over {:?} after scancel", cancelled.elapsed());
        ensure!(over.state == "CANCELLED" && !over.reason.contains("vipu"), "{over:?}");
        let removed = cluster.mock().await_removed(&record.id, LIMIT)?;
        ensure!(removed.remove_request.is_some_and(|at| at > removed.create_request), "{removed:?}");
        ensure!(!cluster.job_output(job).contains("it ran"));
        let job = running(cluster, 16, &[])?;
        cancel(cluster, job)?;
        ended(cluster, job, "CANCELLED")?;
        gone(cluster, job, 0)
    })
}
