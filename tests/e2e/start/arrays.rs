//! Job arrays.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobView, wait_until};
use vipu_client::Call;

use crate::jobs::{brisk, gone, most_at_once};
use crate::quick;

/// One less than Slurm's default MaxArraySize of 1001.
const TASKS: usize = 1000;

/// The time that the array may take on a busy machine.
const ARRAY_LIMIT: Duration = Duration::from_secs(300);

#[test]
fn job_array_of_1000() -> Result<()> {
    let settings = brisk().forgetful().create_time(Duration::from_millis(20));
    settings.run(|cluster| {
        let began = Instant::now();
        let all = format!("--array=0-{}", TASKS - 1);
        let array = cluster.sbatch("true", &["--gres=vipu:pod64:1", &all, "--output=/dev/null"])?;
        let last = cluster.sbatch("true", &[&format!("--dependency=afterany:{array}")])?;
        cluster.await_end(last, ARRAY_LIMIT)?;
        println!("{TASKS} tasks took {:?}", began.elapsed());
        let tasks: Vec<_> = cluster.jobs()?.into_iter().filter(|job| job.array == Some(array)).collect();
        ensure!(tasks.len() == TASKS, "there are {} tasks", tasks.len());
        let odd = tasks.iter().find(|task| task.state != "COMPLETED" || task.restarts != 0);
        ensure!(odd.is_none(), "{odd:?}");
        each_had_its_own(cluster, &tasks)
    })
}

/// Checks that each task had one create and none was in vain. At most one partition for each IPU, and at
/// least 8 partitions, existed at a time.
fn each_had_its_own(cluster: &Cluster, tasks: &[JobView]) -> Result<()> {
    let report = cluster.mock().report()?;
    for task in tasks {
        let record = report.partition(&format!("slurm_{}", task.id));
        let record = record.with_context(|| format!("task {} had no partition", task.id))?;
        ensure!(record.removed.is_some() && record.ipus().len() == 1, "{record:?}");
    }
    let creates = report.calls(Call::CreatePartition);
    ensure!(report.partitions.len() == TASKS, "{} partitions", report.partitions.len());
    ensure!(creates == TASKS as u64, "{creates} creates");
    let most = most_at_once(&report.partitions);
    println!("at most {most} partitions at a time");
    ensure!((8..=64).contains(&most), "{most} at a time");
    Ok(())
}

/// The controller shows a removed partition as removed for a while, with its name and IPUs in use.
#[test]
fn job_array_of_sixteen_is_never_refused() -> Result<()> {
    quick().run(|cluster| {
        let first = cluster.sbatch("sleep 0.5", &["--gres=vipu:pod64:16", "--array=0-15"])?;
        let tasks = || {
            let jobs = cluster.jobs()?.into_iter();
            Ok::<_, anyhow::Error>(jobs.filter(|job| job.array == Some(first)).collect::<Vec<_>>())
        };
        wait_until("the tasks to end", ARRAY_LIMIT, || {
            let tasks = tasks()?;
            Ok(tasks.len() == 16 && tasks.iter().all(JobView::is_over))
        })?;
        for task in tasks()? {
            ensure!((task.state.as_str(), task.restarts) == ("COMPLETED", 0), "{task:?}");
            gone(cluster, task.id, 0)?;
        }
        let creates = cluster.mock().report()?.calls(Call::CreatePartition);
        ensure!(creates == 16, "{creates} calls for 16 partitions");
        Ok(())
    })
}
