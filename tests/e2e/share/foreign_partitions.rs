//! Partitions that another user makes on the same controller.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident, Rpc};
use testbed::{Cluster, JobId, Running};
use vipu_client::Call;

use crate::LIMIT;
use crate::jobs::{brisk, waits};

const THEIRS: &str = "theirs";

/// Makes a partition of half a Pod64 in the name of another user.
fn appears(cluster: &Cluster) -> Result<()> {
    cluster.mock().cause(Incident::Foreign { id: THEIRS.into(), size: 32, first: Some(0) })
}

fn vanishes(cluster: &Cluster) -> Result<()> {
    cluster.mock().cause(Incident::Vanish { partition: THEIRS.into() })
}

#[test]
fn sched_foreign_partition_in_the_way_of_srun() -> Result<()> {
    // With `Prepare`, the job has no nodes yet and waits in line.
    brisk().expect_log("no room").run(|cluster| {
        appears(cluster)?;
        let (srun, job) = start_srun(cluster)?;
        waits(cluster, job, "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32")?;
        vanishes(cluster)?;
        cluster.reconfigure()?;
        ensure!(srun.success(LIMIT)?.stdout == "ran\n");
        Ok(())
    })?;
    brisk().vipu_conf("Prepare=no").expect_log("no room").run(|cluster| {
        // The partition appears after the job has its nodes: no listing shows it before.
        let late = Effect::SlowRpc { rpc: Some(Rpc(Call::CreatePartition)), delay_ms: 2000 };
        cluster.mock().inject(Fault::new(late).times(1))?;
        let (srun, job) = start_srun(cluster)?;
        cluster.await_job(job, "to have nodes", LIMIT, |job| job.state == "CONFIGURING")?;
        appears(cluster)?;
        let srun = srun.output(LIMIT)?;
        ensure!(srun.code != 0 && srun.stdout.is_empty(), "{srun:?}");
        // Slurm may revoke the allocation before it passes on the message that ends the job.
        let causes = ["no room for 64 IPUs", "64 IPUs wanted, 32 are free"];
        ensure!(causes.iter().any(|cause| srun.stderr.contains(cause)), "{srun:?}");
        vanishes(cluster)
    })
}

/// Starts a job of all IPUs that prints `ran`.
fn start_srun(cluster: &Cluster) -> Result<(Running, JobId)> {
    let args = ["--gres=vipu:pod64:64", "--job-name=attended", "echo", "ran"];
    let srun = cluster.command("srun").args(&args).start()?;
    Ok((srun, cluster.await_job_named("attended", LIMIT)?))
}
