//! Slurm partitions with IPUs and without.

use anyhow::{Result, ensure};
use testbed::main_job;

use super::{
    options::run_true,
    sizes::{accepted, refused},
};
use crate::{
    jobs::{cancel, ended},
    quick,
};

#[test]
fn user_request_where_no_node_has_ipus_is_refused() -> Result<()> {
    let settings = quick().nodes(2).extra_gres("nic:1").node_gres(2, "nic:1");
    let settings = settings.slurm_conf("PartitionName=cpu Nodes=ipu-pod64-002");
    settings.slurm_conf("PartitionName=ipu Nodes=ipu-pod64-001").run(|cluster| {
        let told = "vipu: no node of Slurm partition cpu has IPUs; try v-ipu or ipu";
        for by in ["sbatch", "srun", "salloc"] {
            let output = run_true(cluster, by, &["-p", "cpu", "--ipus=4"])?;
            ensure!(output.code != 0 && output.stderr.contains(told), "{by}: {output:?}");
        }
        // One Slurm partition with IPUs is enough, and jobs without IPUs go everywhere.
        let job = cluster.sbatch(main_job::SHOW, &["-p", "cpu,ipu", "--gres=vipu:pod64:4"])?;
        main_job::batch_ended(cluster, job, 4)?;
        let other = cluster.sbatch("true", &["-p", "cpu"])?;
        ended(cluster, other, "COMPLETED")?;

        let held = cluster.sbatch(main_job::SHOW, &["-p", "ipu", "-H", "--gres=vipu:pod64:4"])?;
        refused(cluster, held, "Partition=cpu", told)?;
        accepted(cluster, held, "Partition=cpu,ipu")?;
        cancel(cluster, held)
    })
}
