//! The progress of a job's partition, in squeue and scontrol.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobId, main_job};

use crate::jobs::{reason, submit};
use crate::{LIMIT, let_go, quick};

const TEXT: &str = "link training failed on ag3";

/// Returns the reason and the comment in squeue.
fn squeue(cluster: &Cluster, job: JobId) -> Result<String> {
    let format = "Reason:200,system_comment:200";
    Ok(cluster.command("squeue").args(&["-h", "-j", &job.to_string(), "-O", format]).success()?.stdout)
}

#[test]
fn user_phase_of_the_partition_is_shown_all_through() -> Result<()> {
    quick().vipu_conf("RemoveWait=60").expect_log(TEXT).expect_log("try").run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }))?;
        let job = submit(cluster, &["--ipus=4"])?;
        let partition = main_job::partition_name(job, 0);
        let creating = format!("vipu: creating partition {partition}: 4 IPUs on pod64");
        cluster.await_job(job, "to say what is wrong", LIMIT, |job| {
            let told = reason(cluster, job);
            let is_told = told.starts_with(&creating) && told.contains(", try ") && told.contains(TEXT);
            job.state == "CONFIGURING" && is_told
        })?;
        let shown = squeue(cluster, job)?;
        ensure!(shown.starts_with("vipu: creating a partition of 4 IPUs on pod64 - tried again "), "{shown}");

        cluster.mock().clear()?;
        let running = cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        ensure!(running.reason == "None", "{running:?}");
        let made = format!("vipu: partition {partition}: 4 IPUs on pod64");
        ensure!(running.system_comment == made, "{running:?}");
        ensure!(squeue(cluster, job)?.contains(&made), "{}", squeue(cluster, job)?);

        cluster.mock().inject(Fault::new(Effect::RemoveFail { text: TEXT.into() }))?;
        let_go(cluster)?;
        cluster.await_job(job, "to say what it waits for", LIMIT, |job| {
            job.state == "COMPLETING" && job.reason == "vipu:_removing_the_partition"
        })?;
        cluster.mock().clear()?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.reason == "None", "{ended:?}");
        Ok(())
    })
}
