//! Heterogeneous jobs: a partition for each component, and all or nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobId, JobView, Settings, main_job};

use crate::LIMIT;
use crate::jobs::{begin_again, brisk, cancel, ended, gone, there_are};

fn submit(cluster: &Cluster, script: &str) -> Result<[JobId; 2]> {
    let args = ["--gres=vipu:pod64:4", "--requeue", ":", "--gres=vipu:pod64:8"];
    let leader = cluster.sbatch(script, &args)?;
    Ok([leader, JobId(leader.0 + 1)])
}

/// A cluster of two nodes, because components do not share a node.
fn two() -> Settings {
    brisk().nodes(2)
}

#[test]
fn job_het_cancelled() -> Result<()> {
    two().create_time(Duration::from_secs(3)).run(|cluster| {
        for state in ["CONFIGURING", "RUNNING"] {
            let both = submit(cluster, "sleep 1000")?;
            for job in both {
                cluster.await_job(job, &format!("to be {state}"), LIMIT, |job| job.state == state)?;
            }
            cancel(cluster, both[0])?;
            for job in both {
                ended(cluster, job, "CANCELLED")?;
                gone(cluster, job, 0)?;
            }
        }
        Ok(())
    })
}

#[test]
fn job_het_with_a_component_that_gets_no_partition() -> Result<()> {
    const TEXT: &str = "link training failed on ag3";
    two().vipu_conf("CreateTimeout=3").expect_log(TEXT).run(|cluster| {
        let second = JobId(2);
        let fault = Fault::new(Effect::CreateError { text: TEXT.into() });
        cluster.mock().inject(fault.on(&main_job::partition_name(second, 0)))?;
        let both = submit(cluster, main_job::SHOW)?;
        ensure!(both[1] == second, "{both:?}");
        // The whole job is held. The partition of the leader, which had one, is gone.
        let is_held = |job: &JobView| job.state == "PENDING" && job.restarts == 1;
        for job in both {
            cluster.await_job(job, "to be held", LIMIT, is_held)?;
        }
        ensure!(cluster.job(second)?.system_comment.contains(TEXT), "{:?}", cluster.job(second)?);
        gone(cluster, both[0], 0)?;
        there_are(cluster, &[])?;
        cluster.mock().clear()?;
        // Slurm does not know that the leader's run was never launched.
        begin_again(cluster, both[0])?;
        cluster.scontrol(&["release", &both[0].to_string()])?;
        for job in both {
            ended(cluster, job, "COMPLETED")?;
            gone(cluster, job, 1)?;
        }
        Ok(())
    })
}
