//! Partitions that cannot be made, and files that cannot be written.

use std::{fs, os::unix::fs::PermissionsExt};

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobView, main_job};

use crate::{LIMIT, quick};

const TEXT: &str = "link training failed on ag3";

fn creates_fail(cluster: &Cluster) -> Result<()> {
    cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }))
}

fn is_held(job: &JobView) -> bool {
    job.state == "PENDING" && !job.system_comment.is_empty()
}

#[test]
fn job_create_fails_requeue_held() -> Result<()> {
    quick().vipu_conf("CreateTimeout=3").expect_log(TEXT).run(|cluster| {
        creates_fail(cluster)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        cluster.await_job(job, "to be held", LIMIT, is_held)?;
        // The scheduler has looked at the queue since: the reason must outlive that.
        main_job::start_delay(cluster)?;
        let held = cluster.job(job)?;
        ensure!(held.reason.replace('_', " ").contains(TEXT), "{held:?}");
        ensure!(held.system_comment.contains(TEXT), "{held:?}");
        let states = cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout;
        ensure!(states == "idle\n", "the node is {states}");
        cluster.mock().clear()?;
        cluster.scontrol(&["release", &job.to_string()])?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED", "{ended:?}");
        let shown = main_job::Shown::parse(&cluster.job_output(job))?;
        shown.check(&main_job::partition_name(job, ended.restarts), 16)
    })
}

#[test]
fn job_create_fails_once_is_retried() -> Result<()> {
    quick().expect_log(TEXT).run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }).times(1))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.restarts == 0, "{ended:?}");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&format!("slurm_{job}"), 16)
    })
}

#[test]
fn job_create_fails_message_of_srun_and_salloc() -> Result<()> {
    quick().vipu_conf("CreateTimeout=2").expect_log(TEXT).run(|cluster| {
        creates_fail(cluster)?;
        for by in ["srun", "salloc"] {
            let output = cluster.command(by).args(&["--gres=vipu:pod64:4", "echo", "it ran"]).output()?;
            ensure!(output.code != 0 && !output.stdout.contains("it ran"), "{by}: {output:?}");
            ensure!(output.stderr.contains(TEXT), "{by}: {output:?}");
        }
        Ok(())
    })
}

#[test]
fn job_create_lost_reply_makes_one_partition() -> Result<()> {
    quick().vipu_conf("ApiTimeout=2").run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::LostReply { rpc: None }).on("slurm_*").times(1))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:8"])?;
        main_job::batch_ended(cluster, job, 8)?;
        let records = cluster.mock().report()?.partitions;
        ensure!(records.len() == 1, "{records:?}");
        Ok(())
    })
}

#[test]
fn job_ipuof_dir_missing() -> Result<()> {
    quick().vipu_conf("CreateTimeout=3").expect_log("nowhere").run(|cluster| {
        cluster.write_vipu_conf(&["IpuofDir=/nowhere/at/all"])?;
        cluster.reconfigure()?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        let held = cluster.await_job(job, "to be held", LIMIT, is_held)?;
        ensure!(held.system_comment.contains("/nowhere/at/all"), "{held:?}");
        main_job::start_delay(cluster).map(drop)
    })
}

#[test]
fn job_ipuof_dir_not_writable() -> Result<()> {
    quick().vipu_conf("CreateTimeout=3").expect_log("ipuof").run(|cluster| {
        let mode = |mode| fs::set_permissions(cluster.layout().ipuof(), fs::Permissions::from_mode(mode));
        mode(0o555)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        let held = cluster.await_job(job, "to be held", LIMIT, is_held)?;
        ensure!(held.system_comment.contains("ipuof"), "{held:?}");
        main_job::start_delay(cluster)?;
        mode(0o755)?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        main_job::batch_ended(cluster, job, 4)?;
        Ok(())
    })
}
