//! `Placement`: the controller or slurm-vipu chooses the IPUs of a partition. No partition has broken IPUs.

use anyhow::Result;
use mock_vipu::Incident;
use testbed::{Cluster, main_job};

use crate::jobs::{brisk, running, staying, waits};
use crate::{LIMIT, let_go, quick, stay};

/// Starts two jobs of 16 IPUs on a controller that puts each partition far from the others.
fn two_jobs(cluster: &Cluster) -> Result<()> {
    stay(cluster, 16)?;
    stay(cluster, 16).map(drop)
}

#[test]
fn sched_controller_places_and_a_job_waits_for_a_block() -> Result<()> {
    quick().mock(&["--placement=scatter"]).run(|cluster| {
        two_jobs(cluster)?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        let reason = "vipu:_32_IPUs_of_pod64_needed,_32_free,_largest_block_16";
        cluster.await_job(waiting, "to say why it waits", LIMIT, |job| job.reason == reason)?;
        let_go(cluster)?;
        main_job::batch_ended(cluster, waiting, 32).map(drop)
    })
}

#[test]
fn sched_explicit_placement_keeps_blocks_whole() -> Result<()> {
    let explicit = "Placement=explicit Cluster=pod64";
    quick().mock(&["--placement=scatter"]).vipu_conf(explicit).run(|cluster| {
        two_jobs(cluster)?;
        let third = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        main_job::batch_ended(cluster, third, 32)?;
        let_go(cluster)
    })
}

#[test]
fn sched_blocks_without_broken_ipus() -> Result<()> {
    brisk().run(|cluster| {
        // One IPU is broken, and a machine of four.
        cluster.mock().cause(Incident::IpuFault { agent: "ag9".into(), ipu: 2 })?;
        cluster.mock().cause(Incident::AgentDown { agent: "ag13".into() })?;
        cluster.reconfigure()?;
        let whole = staying(cluster, 64, &["--time=60"])?;
        waits(cluster, whole, "vipu: 64 IPUs of pod64 needed, 59 free, largest block 32")?;
        running(cluster, 32, &["--time=30"]).map(drop)
    })
}
