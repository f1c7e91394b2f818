//! A controller that cannot be reached.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, main_job};

use crate::{LIMIT, quick};

/// The median time of a few calls of squeue and sinfo.
fn answer_time(cluster: &Cluster) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..5 {
        for command in ["squeue", "sinfo"] {
            times.push(cluster.command(command).success()?.took);
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// An IPU job waits with the reason while other jobs start and commands answer as before.
fn waits_meanwhile(cluster: &Cluster, usual: Duration) -> Result<testbed::JobId> {
    let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
    cluster.await_job(job, "to say why it waits", LIMIT, |job| job.reason.contains("unreachable"))?;
    let delay = main_job::start_delay(cluster)?;
    let now = answer_time(cluster)?;
    println!("commands answer in {now:?}, before {usual:?}; a job without IPUs started after {delay:?}");
    ensure!(now < usual * 3 + Duration::from_millis(50), "commands answer in {now:?}, before {usual:?}");
    Ok(job)
}

#[test]
fn job_controller_down() -> Result<()> {
    quick().vipu_conf("ApiTimeout=2").slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let usual = answer_time(cluster)?;
        cluster.mock().refuse()?;
        cluster.reconfigure()?;
        let job = waits_meanwhile(cluster, usual)?;
        cluster.mock().clear()?;
        main_job::batch_ended(cluster, job, 4).map(drop)
    })
}

#[test]
fn job_controller_hangs() -> Result<()> {
    quick().vipu_conf("ApiTimeout=2").slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let usual = answer_time(cluster)?;
        cluster.mock().inject(Fault::new(Effect::Hang { rpc: None }))?;
        cluster.reconfigure()?;
        let job = waits_meanwhile(cluster, usual)?;
        cluster.mock().clear()?;
        main_job::batch_ended(cluster, job, 4).map(drop)
    })
}

#[test]
fn job_partition_of_somebody_else_counts_as_used() -> Result<()> {
    quick().run(|cluster| {
        cluster.mock().cause(Incident::Foreign { id: "theirs".into(), size: 32, first: None })?;
        cluster.reconfigure()?;
        let large = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64"])?;
        let named = |reason: &str| reason.contains("64_IPUs_of_pod64_needed,_32_free");
        cluster.await_job(large, "to say why it waits", LIMIT, |job| named(&job.reason))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        main_job::batch_ended(cluster, job, 32)?;
        Ok(())
    })
}
