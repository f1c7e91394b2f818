//! The hosts of slurmctld and of the V-IPU controller go down with work under way, and come back.

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{
    JobId,
    compose::Cluster,
    main_job::{self, SHOW, batch_ended},
};

use crate::{LIMIT, let_go, partition, quick, stay};

/// Submits a batch job that shows its IPUs, and waits until its partition is being made. The create takes
/// `factor` times the usual time.
fn submit_and_await_create(cluster: &Cluster, ipus: u32, factor: f64) -> Result<JobId> {
    cluster.mock().inject(Fault::new(Effect::SlowCreate { factor }).on("slurm_*").times(1))?;
    let job = cluster.sbatch(SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    cluster.mock().await_created(&partition(job), LIMIT)?;
    Ok(job)
}

#[test]
fn matrix_slurmctld_killed() -> Result<()> {
    // A create takes 15 s: longer than slurmctld needs to save, and the next slurmctld to be ready.
    let factor = 300.0;
    quick().run_in_containers(|cluster| {
        let running = stay(cluster, &["--gres=vipu:pod64:16"])?;
        let creating = submit_and_await_create(cluster, 16, factor)?;
        cluster.await_saved()?;
        let unsaved = submit_and_await_create(cluster, 8, factor)?;
        cluster.host("slurmctld")?.kill()?;
        for job in [creating, unsaved] {
            let record = cluster.mock().record(&partition(job))?;
            ensure!(record.active.is_none(), "it was made before slurmctld died: {record:?}");
        }
        cluster.start_slurmctld()?;
        batch_ended(cluster, creating, 16)?;
        ensure!(cluster.mock().partitions()?.contains(&partition(running)));
        let_go(cluster)?;
        batch_ended(cluster, running, 16)?;
        // Slurm saves with a delay, and a job that was not saved is lost. Its partition must not be lost.
        cluster.may_be_lost(unsaved);
        if cluster.jobs()?.iter().any(|job| job.id == unsaved) {
            batch_ended(cluster, unsaved, 8)?;
        } else {
            println!("job {unsaved} was lost with slurmctld's memory");
            cluster.mock().await_removed(&partition(unsaved), LIMIT)?;
        }
        main_job::sbatch(cluster, 64).map(drop)
    })
}

#[test]
fn matrix_vipu_server_restarted() -> Result<()> {
    quick().run_in_containers(|cluster| {
        let running = stay(cluster, &["--gres=vipu:pod64:32"])?;
        let creating = submit_and_await_create(cluster, 16, 160.0)?;
        let pending = cluster.sbatch(SHOW, &["--gres=vipu:pod64:64"])?;
        let says_why = |reason: &str| reason.contains("64_IPUs_of_pod64_needed");
        cluster.await_job(pending, "to say why it waits", LIMIT, |job| says_why(&job.reason))?;
        let vipu = cluster.host("vipu")?;
        vipu.stop()?;
        let without = cluster.sbatch("echo ran", &[])?;
        let ended = cluster.await_end(without, LIMIT)?;
        ensure!(ended.state == "COMPLETED", "{ended:?}");
        let now = cluster.job(creating)?;
        ensure!(now.state == "CONFIGURING", "{now:?}");
        vipu.start()?;
        cluster.mock().connect(LIMIT)?;
        batch_ended(cluster, creating, 16)?;
        let_go(cluster)?;
        batch_ended(cluster, running, 32)?;
        batch_ended(cluster, pending, 64)?;
        let record = cluster.mock().record(&partition(pending))?;
        let free = cluster.mock().record(&partition(running))?.removed.context("it was not removed")?;
        ensure!(record.create_request >= free, "{record:?} before {free:?}");
        Ok(())
    })
}
