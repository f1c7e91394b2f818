//! The assignment of GCDs to tasks.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use testbed::Cluster;

use crate::{LIMIT, quick};

/// The variables of each task, by its rank: number of GCDs, its own GCD, name of its file, hosts.
type Told = BTreeMap<u32, (u32, u32, String, String)>;

/// Runs a job of 16 IPUs whose tasks print their variables. Returns the output of srun, the number of
/// warnings about tasks that share a GCD, and the variables.
fn told(cluster: &Cluster, options: &[&str]) -> Result<(String, usize, Told)> {
    let show =
        "echo $SLURM_PROCID $SLURM_VIPU_GCDS $SLURM_VIPU_GCD ${IPUOF_CONFIG_PATH##*/} $SLURM_VIPU_HOSTS";
    let script = format!("srun --kill-on-bad-exit bash -c '[ -r $IPUOF_CONFIG_PATH ] && {show}'");
    let options = [&["--gres=vipu:pod64:16"], options].concat();
    let job = cluster.sbatch(&script, &options)?;
    let ended = cluster.await_end(job, LIMIT)?;
    let output = cluster.job_output(job);
    ensure!(ended.state == "COMPLETED", "{output}");
    let is_warning =
        |line: &&str| line.starts_with("spank_ipuof: warning: ") && line.contains(" tasks share ");
    let (warnings, lines): (Vec<_>, Vec<_>) = output.lines().partition(is_warning);
    let told = lines.into_iter().map(|line| {
        let [rank, gcds, gcd, file, hosts] = line.split(' ').collect::<Vec<_>>()[..] else {
            anyhow::bail!("{output}")
        };
        let file = file.strip_prefix(&format!("slurm_{job}")).context("another job's file")?;
        Ok((rank.parse()?, (gcds.parse()?, gcd.parse()?, file.to_owned(), hosts.to_owned())))
    });
    Ok((output.clone(), warnings.len(), told.collect::<Result<_>>()?))
}

#[test]
fn user_gcds_go_to_tasks_by_rank() -> Result<()> {
    quick().nodes(4).cpus(4).run(|cluster| {
        for (options, nodes, gcds, tasks) in [
            (&["-N1", "-n2"][..], 1, 1, 2),
            (&["-N1", "-n3", "--ipu-gcds=4"], 1, 4, 3),
            (&["-N2", "-n5"], 2, 2, 5),
            (&["-N3", "-n3"], 3, 1, 3),
            (&["-N4", "-n4", "--ipu-gcds=2"], 4, 2, 4),
        ] {
            let (output, warnings, told) = told(cluster, options)?;
            ensure!(told.len() == tasks, "{options:?}: {output}");
            ensure!(warnings == usize::from(told.len() > gcds as usize), "{options:?}: {output}");
            for (rank, (has, gcd, file, hosts)) in told {
                let name = if gcds == 1 { ".conf".to_owned() } else { format!("_gcd{gcd}.conf") };
                ensure!((has, gcd) == (gcds, rank % gcds) && file == name, "{options:?}: {output}");
                let names: Vec<_> = hosts.split(',').collect();
                let right = names.len() == nodes && names.iter().all(|name| name.starts_with("ipu-pod64-00"));
                ensure!(right, "{options:?}: {output}");
            }
        }
        Ok(())
    })
}
