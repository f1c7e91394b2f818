//! An upgrade of Slurm under IPU jobs, in the order that Slurm asks for: slurmdbd, slurmctld, nodes, login hosts. All hosts
//! keep their files of slurm-vipu.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{
    JobId,
    compose::{Cluster, NODES},
    main_job::{SHOW, batch_ended, srun},
    wait_until,
};

use crate::{LIMIT, let_go, main_job::is_accounted, partition, quick, stay};

/// The suites whose releases of Slurm are run, the second as new as Slurm takes it after the first.
const SUITES: [&str; 2] = ["trixie", "forky"];

#[test]
fn pkg_slurm_upgrade_under_ipu_jobs() -> Result<()> {
    let [from, to] = SUITES;
    quick().suite(from).run_in_containers(|cluster| {
        let old = cluster.slurm()?.to_string();
        let jobs = submit(cluster)?;
        let [running, creating, waiting] = jobs;

        cluster.replace_host("slurmdbd", to)?;
        wait_until("slurmdbd to answer", LIMIT, || {
            Ok(cluster.command("sacctmgr").args(&["--noheader", "list", "cluster"]).output()?.code == 0)
        })?;
        cluster.replace_host("slurmctld", to)?;
        cluster.await_slurmctld()?;
        let record = cluster.mock().record(&partition(creating))?;
        ensure!(record.active.is_none(), "it was made before slurmctld was replaced: {record:?}");
        batch_ended(cluster, creating, 32)?;
        batch_ended(cluster, waiting, 32)?;
        ensure!(versions(cluster)?.iter().all(|version| *version == old), "{:?}", versions(cluster)?);

        (2..=4).try_for_each(|number| replace_node(cluster, number, to))?;
        let now = cluster.job(running)?;
        ensure!(now.state == "RUNNING", "{now:?}");
        ensure!(cluster.mock().partitions()? == [partition(running)]);
        let_go(cluster)?;
        batch_ended(cluster, running, 16)?;
        replace_node(cluster, 1, to)?;

        cluster.replace_host("login", to)?;
        let new = cluster.slurm()?.to_string();
        ensure!(new != old && versions(cluster)?.iter().all(|version| *version == new));
        srun(cluster, 64)?;
        jobs.into_iter().try_for_each(|job| is_accounted(cluster, job))
    })
}

/// Submits a job that runs on the first node until [`let_go`], one whose create takes longer than slurmdbd and slurmctld need to
/// be replaced, and one that waits for the IPUs of these.
fn submit(cluster: &Cluster) -> Result<[JobId; 3]> {
    let running = stay(cluster, &["--gres=vipu:pod64:16", "-w", NODES[0]])?;
    cluster.mock().inject(Fault::new(Effect::SlowCreate { factor: 800.0 }).on("slurm_*").times(1))?;
    let creating = cluster.sbatch(SHOW, &["--gres=vipu:pod64:32"])?;
    cluster.await_state(creating, "CONFIGURING", LIMIT)?;
    let waiting = cluster.sbatch(SHOW, &["--gres=vipu:pod64:32"])?;
    let says_why = |reason: &str| reason.contains("32_IPUs_of_pod64_needed");
    cluster.await_job(waiting, "to say why it waits", LIMIT, |job| says_why(&job.reason))?;
    Ok([running, creating, waiting])
}

/// Drains the node of this number, counted from 1, replaces it, and runs a job on it.
fn replace_node(cluster: &Cluster, number: u16, suite: &str) -> Result<()> {
    let name = NODES[usize::from(number - 1)];
    cluster.update_node(number, &["State=DRAIN", "Reason=upgrade"])?;
    cluster.await_node(number, |state| state == "IDLE+DRAIN")?;
    let old = versions(cluster)?;
    cluster.replace_host(name, suite)?;
    wait_until(&format!("{name} to register with another Slurm"), LIMIT, || Ok(versions(cluster)? != old))?;
    cluster.update_node(number, &["State=RESUME"])?;
    cluster.await_node(number, |state| state == "IDLE")?;
    let job = cluster.sbatch(SHOW, &["--gres=vipu:pod64:16", "-w", name])?;
    batch_ended(cluster, job, 16).map(drop)
}

/// The releases that slurmctld has heard of its nodes.
fn versions(cluster: &Cluster) -> Result<Vec<String>> {
    let shown = cluster.command("sinfo").args(&["-h", "-N", "-o", "%v"]).success()?.stdout;
    Ok(shown.lines().map(|line| line.trim().to_owned()).collect())
}
