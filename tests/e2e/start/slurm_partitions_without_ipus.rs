//! Slurm partitions with IPUs and without.

use anyhow::{Result, ensure};
use testbed::main_job;

use crate::{LIMIT, quick, start::sizes::accepted};

#[test]
fn user_request_where_no_node_has_ipus_is_refused() -> Result<()> {
    let settings = quick().nodes(2).extra_gres("nic:1").node_gres(2, "nic:1");
    let settings = settings.slurm_conf("PartitionName=cpu Nodes=ipu-pod64-002");
    settings.slurm_conf("PartitionName=ipu Nodes=ipu-pod64-001").run(|cluster| {
        let told = "vipu: no node of Slurm partition cpu has IPUs; try v-ipu or ipu";
        for by in ["sbatch", "srun", "salloc"] {
            let args = ["-p", "cpu", "--ipus=4"];
            let command = match by {
                "sbatch" => cluster.sbatch_command("true", &args)?,
                _ => cluster.command(by).args(&args).args(&["true"]),
            };
            let output = command.output()?;
            ensure!(output.code != 0 && output.stderr.contains(told), "{by}: {output:?}");
        }
        // One Slurm partition with IPUs is enough, and jobs without IPUs go everywhere.
        let job = cluster.sbatch(main_job::SHOW, &["-p", "cpu,ipu", "--gres=vipu:pod64:4"])?;
        main_job::batch_ended(cluster, job, 4)?;
        let other = cluster.sbatch("true", &["-p", "cpu"])?;
        ensure!(cluster.await_end(other, LIMIT)?.state == "COMPLETED");

        let held = cluster.sbatch(main_job::SHOW, &["-p", "ipu", "-H", "--gres=vipu:pod64:4"])?;
        let to_cpu = cluster
            .command("scontrol")
            .args(&["update", &format!("JobId={held}"), "Partition=cpu"])
            .output()?;
        ensure!(to_cpu.code != 0, "{to_cpu:?}");
        // Before 23.02, only the log can say it.
        let log = cluster.slurmctld_log();
        ensure!(
            to_cpu.stderr.contains(told) || log.contains(&format!("job {held} is not changed: {told}")),
            "{to_cpu:?} {log}"
        );
        accepted(cluster, held, "Partition=cpu,ipu")?;
        cluster.command("scancel").args(&[&held.to_string()]).success().map(drop)
    })
}
