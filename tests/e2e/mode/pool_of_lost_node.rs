//! A partition of a pool whose job was on a node that is down: its processes may be left.

use anyhow::{Result, ensure};
use rustix::process::Signal;
use testbed::{Cluster, JobId, main_job};

use super::pool::{NONE_FREE, ends, knows};
use super::pool_of_forgotten_job::{ONLY, SCRIPT, forgetful, goes, started_by};
use crate::jobs::{ended, let_go, looked_at, runs, staying, waits};
use crate::see::steering::steer;

/// Checks that the schedulers of a new slurmctld find no partition for the job.
fn still_waits(cluster: &Cluster, job: JobId) -> Result<()> {
    knows(cluster, 32)?;
    looked_at(cluster, job, 2)?;
    waits(cluster, job, NONE_FREE)
}

/// slurmd is stopped, and what it has started goes on, as on a node without a network.
#[test]
fn mode_pool_withholds_the_partition_of_a_lost_node_over_restarts() -> Result<()> {
    forgetful().slurm_conf("ReturnToService=0").run(|cluster| {
        knows(cluster, 32)?;
        let on_first = ["--gres=vipu:pod64:32", "--no-requeue", "--nodelist=ipu-pod64-001"];
        let lost = cluster.sbatch(SCRIPT, &on_first)?;
        let left = started_by(cluster, lost)?;
        let slurmd = cluster.slurmd(1)?;
        slurmd.signal(Signal::STOP)?;
        cluster.update_node(1, &["State=DOWN", "Reason=test"])?;
        ended(cluster, lost, "NODE_FAIL")?;
        let next = staying(cluster, 32, &["--nodelist=ipu-pod64-002"])?;
        still_waits(cluster, next)?;
        cluster.stop_slurmctld()?;
        cluster.start_slurmctld_without_nodes()?;
        still_waits(cluster, next)?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld_without_nodes()?;
        still_waits(cluster, next)?;
        ensure!(left.exists(), "the test shows nothing: no process is left");
        goes(cluster)?;
        testbed::wait_until("the end of the last process", crate::LIMIT, || Ok(!left.exists()))?;
        slurmd.signal(Signal::CONT)?;
        steer(cluster, &["partition", "free", ONLY, "--reason", "no process is left"])?;
        runs(cluster, next)?;
        let_go(cluster, next)?;
        let shown = main_job::Shown::parse(&cluster.job_output(next))?;
        ensure!(shown.environment["SLURM_VIPU_PARTITION"] == ONLY, "{shown:?}");
        ends(cluster, &[ONLY])
    })
}
