//! The main job on four hosts.

use anyhow::{Context, Result, ensure};
use testbed::{
    JobId,
    compose::{Cluster, NODES, USER},
    main_job::{SHOW, Shown},
};

use crate::{LIMIT, partition, slow};

#[test]
fn matrix_main_job() -> Result<()> {
    slow(1).run(|cluster| {
        batch(cluster)?;
        srun(cluster)?;
        salloc(cluster)?;
        on_all_nodes(cluster)
    })
}

fn batch(cluster: &Cluster) -> Result<()> {
    let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:16"])?;
    cluster.await_state(job, "CONFIGURING", LIMIT)?;
    cluster.await_end(job, LIMIT)?;
    check_run(cluster, job, 16, &cluster.job_output(job)?)
}

fn srun(cluster: &Cluster) -> Result<()> {
    let words = ["--job-name=by-srun", "--gres=vipu:pod64:4", "bash", "-c", SHOW];
    let running = cluster.command("srun").args(&words).start()?;
    let job = cluster.await_job_named("by-srun", LIMIT)?;
    let output = running.success(LIMIT)?;
    check_run(cluster, job, 4, &output.stdout)
}

fn salloc(cluster: &Cluster) -> Result<()> {
    // What salloc runs is on the login host and no task of Slurm's, so that its command is a step.
    let words = ["--job-name=by-salloc", "--gres=vipu:pod64:1", "srun", "bash", "-c", SHOW];
    let running = cluster.command("salloc").args(&words).start()?;
    let job = cluster.await_job_named("by-salloc", LIMIT)?;
    let output = running.success(LIMIT)?;
    check_run(cluster, job, 1, &output.stdout)
}

/// One partition for all nodes, and on each a file that can be read.
fn on_all_nodes(cluster: &Cluster) -> Result<()> {
    let show = format!("echo \"host $(hostname)\"\n{SHOW}").replace('\'', r"'\''");
    // To a file each, as what four tasks print at once is mixed.
    let script = format!("srun --output=%j.%t.task bash -c '{show}'");
    let job =
        cluster.sbatch(&script, &["-N4", "--ntasks-per-node=1", "--gres=vipu:pod64:16", "--ipu-gcds=1"])?;
    cluster.await_end(job, LIMIT)?;
    let mut hosts = Vec::new();
    let mut devices = Vec::new();
    for task in 0..NODES.len() {
        let output = cluster.home_file(&format!("{job}.{task}.task"))?;
        check_run(cluster, job, 16, &output).with_context(|| format!("task {task}"))?;
        let host = output.lines().find_map(|line| line.strip_prefix("host ")).context("no host")?;
        hosts.push(host.to_owned());
        devices.push(Shown::parse(&output)?.file.devices);
    }
    hosts.sort_unstable();
    ensure!(hosts == NODES, "the tasks ran on {hosts:?}");
    ensure!(devices.windows(2).all(|two| two[0] == two[1]), "the nodes saw different files: {devices:?}");
    let lives = cluster.controller().report()?.partitions;
    let lives = lives.iter().filter(|record| record.id == partition(job)).count();
    ensure!(lives == 1, "{} was made {lives} times", partition(job));
    Ok(())
}

/// Checks what one task printed with [`SHOW`], that the partition goes, and what accounting has of the job.
fn check_run(cluster: &Cluster, job: JobId, ipus: u32, output: &str) -> Result<()> {
    let what = format!("job {job}");
    let shown = Shown::parse(output).with_context(|| what.clone())?;
    shown.check(&partition(job), ipus).context(what)?;
    let record = cluster.controller().await_removed(&partition(job), LIMIT)?;
    let active = record.active.context("the partition was never ACTIVE")?;
    ensure!(shown.started >= active.0, "job {job} started before its partition was ACTIVE");
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == "COMPLETED", "{ended:?}");
    // slurmctld tells the database when it gets to it.
    testbed::wait_until(&format!("sacct to show job {job} as completed"), LIMIT, || {
        let columns = ["--noheader", "--parsable2", "--allocations", "--format=User,State,ReqTRES"];
        let sacct = cluster.command("sacct").args(&["-j", &job.to_string()]).args(&columns).success()?;
        let line = sacct.stdout.trim();
        Ok(line.starts_with(&format!("{USER}|COMPLETED|")) && line.contains("gres/vipu="))
    })
}
