//! The main job on four hosts.

use anyhow::{Context, Result, ensure};
use testbed::{
    JobId,
    compose::{Cluster, NODES, USER},
    main_job::{SHOW, Shown, batch, check_run, salloc, srun},
};

use crate::{LIMIT, partition, slow};

#[test]
fn matrix_main_job() -> Result<()> {
    slow(5).run_in_containers(|cluster| {
        for run in [batch(cluster, 16)?, srun(cluster, 4)?, salloc(cluster, 1)?] {
            is_accounted(cluster, run.job)?;
        }
        on_all_nodes(cluster)
    })
}

/// Checks that all nodes share one partition, and that each node can read its file.
fn on_all_nodes(cluster: &Cluster) -> Result<()> {
    let show = format!("echo \"host $(hostname)\"\n{SHOW}").replace('\'', r"'\''");
    // Each task writes its own file, because the mixed output of four tasks cannot be parsed.
    let script = format!("srun --output=%j.%t.task bash -c '{show}'");
    let job =
        cluster.sbatch(&script, &["-N4", "--ntasks-per-node=1", "--gres=vipu:pod64:16", "--ipu-gcds=1"])?;
    cluster.await_end(job, LIMIT)?;
    let mut hosts = Vec::new();
    let mut devices = Vec::new();
    for task in 0..NODES.len() {
        let output = cluster.job_file(&format!("{job}.{task}.task"));
        check_run(cluster, job, "sbatch", 16, &output).with_context(|| format!("task {task}"))?;
        let host = output.lines().find_map(|line| line.strip_prefix("host ")).context("no host")?;
        hosts.push(host.to_owned());
        devices.push(Shown::parse(&output)?.file.devices);
    }
    is_accounted(cluster, job)?;
    hosts.sort_unstable();
    ensure!(hosts == NODES, "the tasks ran on {hosts:?}");
    ensure!(devices.windows(2).all(|two| two[0] == two[1]), "the nodes saw different files: {devices:?}");
    let lives = cluster.mock().report()?.partitions;
    let lives = lives.iter().filter(|record| record.id == partition(job)).count();
    ensure!(lives == 1, "{} was made {lives} times", partition(job));
    Ok(())
}

/// Waits until accounting shows the job as completed.
pub fn is_accounted(cluster: &Cluster, job: JobId) -> Result<()> {
    // slurmctld tells the database with a delay.
    testbed::wait_until(&format!("sacct to show job {job} as completed"), LIMIT, || {
        let columns = ["--noheader", "--parsable2", "--allocations", "--format=User,State,ReqTRES"];
        let sacct = cluster.command("sacct").args(&["-j", &job.to_string()]).args(&columns).success()?;
        let line = sacct.stdout.trim();
        Ok(line.starts_with(&format!("{USER}|COMPLETED|")) && line.contains("gres/vipu="))
    })
}
