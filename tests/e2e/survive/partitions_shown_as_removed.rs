//! A controller that shows a removed partition as removed for a while, with its name and IPUs in use.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testbed::{Cluster, main_job};
use vipu_client::Call;

use crate::{LIMIT, quick};

/// Runs `jobs` jobs, one after the other, that need the whole Pod each; says how long that took.
fn one_after_another(cluster: &Cluster, jobs: u32) -> Result<Duration> {
    let before = creates(cluster)?;
    let began = Instant::now();
    for _ in 0..jobs {
        cluster.command("srun").args(&["--ipus=64", "sleep", "1"]).success()?;
    }
    let took = began.elapsed();
    let asked = creates(cluster)? - before;
    ensure!(asked == u64::from(jobs), "{jobs} partitions were asked for {asked} times");
    Ok(took)
}

fn creates(cluster: &Cluster) -> Result<u64> {
    Ok(cluster.mock().report()?.calls(Call::CreatePartition))
}

/// The only test with a controller that does not show it.
#[test]
fn job_after_job_loses_no_time_to_a_partition_that_is_shown_as_removed() -> Result<()> {
    let two_seconds = || Cluster::settings().nodes(1);
    let run = |shown: Duration| {
        let mut took = Duration::ZERO;
        two_seconds().removed_time(shown).run(|cluster| {
            took = one_after_another(cluster, 3)?;
            Ok(())
        })?;
        Ok::<_, anyhow::Error>(took)
    };
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    // The machine may be busy with something else for one of the two.
    for _ in 0..2 {
        with = with.min(run(Duration::from_millis(300))?);
        without = without.min(run(Duration::ZERO)?);
        println!("three jobs of 64 IPUs one after another: {with:.2?}, {without:.2?} with nothing shown");
        if with <= without.mul_f64(1.2) {
            return Ok(());
        }
    }
    anyhow::bail!("{with:?}, more than 1.2 times {without:?}")
}

#[test]
fn job_array_of_sixteen_is_never_refused() -> Result<()> {
    quick().run(|cluster| {
        let first = cluster.sbatch("sleep 0.5", &["--gres=vipu:pod64:16", "--array=0-15"])?;
        let tasks = || {
            let jobs = cluster.jobs()?.into_iter();
            Ok::<_, anyhow::Error>(jobs.filter(|job| job.array == Some(first)).collect::<Vec<_>>())
        };
        testbed::wait_until("the tasks to end", 2 * LIMIT, || {
            let tasks = tasks()?;
            Ok(tasks.len() == 16 && tasks.iter().all(testbed::JobView::is_over))
        })?;
        for task in tasks()? {
            ensure!((task.state.as_str(), task.restarts) == ("COMPLETED", 0), "{task:?}");
            cluster.mock().await_removed(&main_job::partition_name(task.id, 0), LIMIT)?;
        }
        ensure!(creates(cluster)? == 16, "{} calls for 16 partitions", creates(cluster)?);
        Ok(())
    })
}
