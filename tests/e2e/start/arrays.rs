//! Job arrays.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobView};
use vipu_client::Call;

use crate::jobs::{brisk, most_at_once};

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
