//! A controller that is away.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, JobView, main_job};

use crate::jobs::reason;
use crate::{LIMIT, quick};

/// Returns how long squeue and sinfo take together.
fn answer_time(cluster: &Cluster) -> Result<Duration> {
    Ok(cluster.answer_time("squeue")? + cluster.answer_time("sinfo")?)
}

/// Checks that other jobs start and commands answer as before.
fn nothing_else_waits(cluster: &Cluster, usual: Duration) -> Result<()> {
    let now = answer_time(cluster)?;
    println!("commands answer in {now:?}, before {usual:?}");
    ensure!(now < usual * 4, "commands answer in {now:?}, before {usual:?}");
    let delay = main_job::start_delay(cluster)?;
    println!("a job without IPUs started after {delay:?}");
    Ok(())
}

#[test]
fn job_controller_down_or_hanging() -> Result<()> {
    quick().vipu_conf("ApiTimeout=2").slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let usual = answer_time(cluster)?;
        cluster.mock().inject(Fault::new(Effect::Hang { rpc: None }))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        main_job::await_creating(cluster, job)?;
        nothing_else_waits(cluster, usual)?;
        cluster.mock().clear()?;
        main_job::batch_ended(cluster, job, 4)?;
        cluster.mock().refuse()?;
        cluster.reconfigure()?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:4"])?;
        // It waits in line, or for its partition if it came before the first call that is refused.
        let told = |job: &JobView| reason(cluster, job).contains("refused");
        cluster.await_job(job, "to wait for 'refused'", LIMIT, told)?;
        nothing_else_waits(cluster, usual)?;
        cluster.mock().clear()?;
        main_job::batch_ended(cluster, job, 4).map(drop)
    })
}
