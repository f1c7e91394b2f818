//! Partitions without a job, and partitions that fail under a running job.

use std::fs;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, JobId, JobView, Settings, main_job, wait_until};

use crate::jobs::{begin_again, cancel, ended, logged, partition, waits, waits_again};
use crate::{LIMIT, let_go, quick, slow, stay};

/// A cluster that surveys its controller every second.
fn watchful() -> Settings {
    quick().vipu_conf("ReconcileInterval=1")
}

fn says(job: &JobView, text: &str) -> bool {
    job.system_comment.contains(text)
}

#[test]
fn job_unknown_partition_is_left_alone_until_the_site_says_otherwise() -> Result<()> {
    watchful().expect_log("RemoveUnknown").run(|cluster| {
        cluster.mock().cause(Incident::Foreign { id: "slurm_999".into(), size: 16, first: None })?;
        logged(cluster, "slurm_999 (16 IPUs) is named as ours are")?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        waits(cluster, job, "48 free")?;
        ensure!(cluster.mock().record("slurm_999")?.remove_request.is_none());
        cluster.write_vipu_conf(&["ReconcileInterval=1", "RemoveUnknown=1"])?;
        cluster.reconfigure()?;
        cluster.mock().await_removed("slurm_999", LIMIT)?;
        main_job::batch_ended(cluster, job, 64).map(drop)
    })
}

/// Starts a job on 16 IPUs whose partition then fails for good.
fn fails_under_a_job(cluster: &Cluster) -> Result<JobId> {
    let job = stay(cluster, 16)?;
    cluster.mock().cause(Incident::IpuFault { agent: "ag1".into(), ipu: 0 })?;
    Ok(job)
}

const FAULT: &str = "IPU 0 of ag1 is in error";

#[test]
fn job_partition_that_fails_requeues_its_job_if_the_site_wants_that() -> Result<()> {
    watchful().vipu_conf("OnPartitionError=requeue").expect_log(FAULT).run(|cluster| {
        let job = fails_under_a_job(cluster)?;
        waits_again(cluster, job, 1)?;
        begin_again(cluster, job)?;
        cluster.await_job(job, "to run again", LIMIT, |job| job.restarts == 1 && job.state == "RUNNING")?;
        let_go(cluster)?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && cluster.slurmctld_log().contains(FAULT), "{ended:?}");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&main_job::partition_name(job, 1), 16)
    })
}

#[test]
fn job_partition_that_fails_ends_its_job_if_the_site_wants_that() -> Result<()> {
    watchful().vipu_conf("OnPartitionError=kill").expect_log(FAULT).run(|cluster| {
        let job = fails_under_a_job(cluster)?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "FAILED" && ended.restarts == 0 && says(&ended, FAULT), "{ended:?}");
        cluster.mock().await_removed(&partition(job), LIMIT).map(drop)
    })
}

#[test]
fn job_partition_that_moves_gets_a_new_file_and_its_end_is_told() -> Result<()> {
    watchful().expect_log(FAULT).expect_log("does not know it any more").run(|cluster| {
        let job = fails_under_a_job(cluster)?;
        let file = cluster.layout().ipuof().join(format!("{}.conf", partition(job)));
        let before = fs::read(&file)?;
        let told = cluster.await_job(job, "to be told", LIMIT, |job| says(job, FAULT))?;
        ensure!(told.state == "RUNNING" && says(&told, "partition slurm_"), "{told:?}");
        cluster.mock().cause(Incident::Relocate { partition: partition(job) })?;
        wait_until("its file to be written anew", LIMIT, || Ok(fs::read(&file)? != before))?;
        cluster.await_job(job, "to be told", LIMIT, |job| says(job, "was moved to other IPUs"))?;
        cluster.mock().cause(Incident::Vanish { partition: partition(job) })?;
        cluster.await_job(job, "to be told", LIMIT, |job| says(job, "does not know it any more"))?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, job, 16).map(drop)
    })
}

#[test]
fn job_leaves_completing_though_its_partition_cannot_be_removed() -> Result<()> {
    quick().vipu_conf("RemoveWait=2").expect_log("still there").expect_log("not removed").run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::RemoveFail { text: "agent busy".into() }))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        ended(cluster, job, "COMPLETED")?;
        ensure!(cluster.mock().partitions()? == [partition(job)]);
        let next = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        waits(cluster, next, "48 free")?;
        cluster.mock().clear()?;
        main_job::batch_ended(cluster, next, 64).map(drop)
    })
}

#[test]
fn job_waits_in_line_again_when_its_controller_goes_away() -> Result<()> {
    let conf = ["CreateTimeout=4", "ApiTimeout=1", "RemoveWait=2"];
    let settings = conf.into_iter().fold(slow(20), Settings::vipu_conf);
    settings.expect_log("no IPU job").expect_log("still there").run(|cluster| {
        // The run is never launched: --no-requeue does not concern it.
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16", "--no-requeue"])?;
        cluster.mock().await_created(&partition(job), LIMIT)?;
        cluster.mock().refuse()?;
        waits_again(cluster, job, 1)?;
        let named = |reason: &str| reason.contains("vipu") && !reason.contains("held");
        cluster.await_job(job, "to say why it waits", LIMIT, |job| named(&job.reason))?;
        cancel(cluster, job)?;
        cluster.mock().clear()?;
        cluster.mock().await_removed(&partition(job), LIMIT).map(drop)
    })
}
