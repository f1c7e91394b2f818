//! The hosts of slurmctld and of the V-IPU controller go down with work under way, and come back.

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{
    JobId,
    compose::Cluster,
    main_job::{SHOW, Shown, is_of_run},
    wait_until,
};

use crate::{LIMIT, let_go, partition, quick, stay};

/// Wants a job to have ended well, with `ipus` IPUs in the one partition that was ever made for it.
fn ended_well(cluster: &Cluster, job: JobId, ipus: u32) -> Result<()> {
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == "COMPLETED" && ended.restarts == 0, "{ended:?}");
    let shown = Shown::parse(&cluster.job_output(job)?)?;
    // A job that has the number of one that was lost has a partition with another id.
    let partition = shown.partition()?;
    ensure!(is_of_run(partition, job, 0), "job {job} has partition {partition}");
    shown.check(partition, ipus)?;
    cluster.controller().await_removed(partition, LIMIT).map(drop)
}

/// Submits a batch job that shows its IPUs, and waits until its partition is being made, `factor` times as slowly as
/// others.
fn submit_and_await_create(cluster: &Cluster, ipus: u32, factor: f64) -> Result<JobId> {
    cluster.controller().inject(&Fault::new(Effect::SlowCreate { factor }).on("slurm_*").times(1))?;
    let job = cluster.sbatch(SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    cluster.controller().await_partition(&partition(job), "to be asked for", LIMIT, |_| true)?;
    Ok(job)
}

/// Waits until slurmctld has saved where the job with this name is.
fn await_saved(cluster: &Cluster, name: &str) -> Result<()> {
    let slurmctld = cluster.host("slurmctld")?;
    wait_until("slurmctld to save its jobs", LIMIT, || {
        let saved = slurmctld.command("grep").args(&["-qa", name, "/var/spool/slurmctld/job_state"]);
        Ok(saved.output()?.code == 0)
    })
}

#[test]
fn matrix_slurmctld_killed() -> Result<()> {
    // 15 s: longer than slurmctld takes to save and the next one to be ready.
    let factor = 300.0;
    quick().run(|cluster| {
        let running = stay(cluster, &["--gres=vipu:pod64:16"])?;
        let creating = submit_and_await_create(cluster, 16, factor)?;
        // Jobs are saved together, so one that was submitted later tells of the others.
        let mark = cluster.sbatch("true", &["--hold", "--job-name=saved-by-now"])?;
        await_saved(cluster, "saved-by-now")?;
        cluster.command("scancel").args(&[&mark.to_string()]).success()?;
        let unsaved = submit_and_await_create(cluster, 8, factor)?;
        cluster.host("slurmctld")?.kill()?;
        for job in [creating, unsaved] {
            let record = cluster.controller().record(&partition(job))?;
            ensure!(record.active.is_none(), "it was made before slurmctld died: {record:?}");
        }
        cluster.start_slurmctld()?;
        ended_well(cluster, creating, 16)?;
        ensure!(cluster.controller().partitions()?.contains(&partition(running)));
        let_go(cluster)?;
        ended_well(cluster, running, 16)?;
        // Slurm saves with a delay, and what was not saved is lost. Its partition must not be.
        cluster.may_be_lost(unsaved);
        if cluster.jobs()?.iter().any(|job| job.id == unsaved) {
            ended_well(cluster, unsaved, 8)?;
        } else {
            println!("job {unsaved} was lost with slurmctld's memory");
            cluster.controller().await_removed(&partition(unsaved), LIMIT)?;
        }
        let next = cluster.sbatch(SHOW, &["--gres=vipu:pod64:64"])?;
        ended_well(cluster, next, 64)
    })
}

#[test]
fn matrix_vipu_server_restarted() -> Result<()> {
    quick().run(|cluster| {
        let running = stay(cluster, &["--gres=vipu:pod64:32"])?;
        let creating = submit_and_await_create(cluster, 16, 160.0)?;
        let pending = cluster.sbatch(SHOW, &["--gres=vipu:pod64:64"])?;
        let says_why = |reason: &str| reason.contains("64_IPUs_of_pod64_needed");
        cluster.await_job(pending, "to say why it waits", LIMIT, |job| says_why(&job.reason))?;
        let vipu = cluster.controller().host();
        vipu.stop()?;
        let without = cluster.sbatch("echo ran", &[])?;
        let ended = cluster.await_end(without, LIMIT)?;
        ensure!(ended.state == "COMPLETED", "{ended:?}");
        let now = cluster.job(creating)?;
        ensure!(now.state == "CONFIGURING", "{now:?}");
        vipu.start()?;
        let answers = || Ok(cluster.controller().report().is_ok());
        wait_until("the controller to answer", LIMIT, answers)?;
        ended_well(cluster, creating, 16)?;
        let_go(cluster)?;
        ended_well(cluster, running, 32)?;
        ended_well(cluster, pending, 64)?;
        let record = cluster.controller().record(&partition(pending))?;
        let free = cluster.controller().record(&partition(running))?.removed.context("it was not removed")?;
        ensure!(record.create_request >= free, "{record:?} before {free:?}");
        Ok(())
    })
}
