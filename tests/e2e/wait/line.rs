//! A stream of smaller jobs does not overtake the first job in line.

use anyhow::{Result, ensure};
use testbed::{Cluster, JobId, JobView, Settings, wait_for, wait_until};

use crate::LIMIT;
use crate::jobs::{
    brisk, cancel, ended, expected_at, ipus, let_go, running_for, runs, submit, waits, without_backfill,
};

/// The number of jobs that come while one job waits.
const STREAM: usize = 5;

/// Half of the IPUs are used for an hour, and a job for all of them waits. Of the small jobs that come, those
/// that end within the hour start. The others have to wait, and `large` is next.
fn is_next(settings: Settings, large: &[&str], small: &[&str]) -> Result<()> {
    settings.run(|cluster| {
        let half = running_for(cluster, 32, 60, small)?;
        let large = ipus(cluster, 64, 60, large)?;
        waits(cluster, large, "vipu: 64 IPUs of pod64 needed, 32 free, largest block 32")?;
        let stream = (0..STREAM).map(|_| Ok((ipus(cluster, 1, 30, small)?, ipus(cluster, 1, 90, small)?)));
        let (short, long): (Vec<_>, Vec<_>) = stream.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        for job in &short {
            runs(cluster, *job)?;
        }
        for job in &long {
            waits(cluster, *job, &kept_for(large))?;
        }
        // The jobs end one after the other: each time there is room for a small job.
        for job in short.into_iter().chain([half]) {
            let_go(cluster, job)?;
        }
        runs(cluster, large)?;
        all_wait(cluster, &long)?;
        let_go(cluster, large)?;
        long.iter().try_for_each(|job| runs(cluster, *job))
    })
}

fn kept_for(job: JobId) -> String {
    format!("vipu: IPUs of pod64 are kept for job {job}")
}

/// Checks that none of these jobs ever had IPUs.
fn all_wait(cluster: &Cluster, jobs: &[JobId]) -> Result<()> {
    let records = cluster.mock().report()?.partitions;
    let early = jobs.iter().find(|job| records.iter().any(|record| record.id == format!("slurm_{job}")));
    ensure!(early.is_none(), "job {early:?} had a partition before the one that is first in line");
    Ok(())
}

#[test]
fn sched_line_by_priority_tier() -> Result<()> {
    let settings = brisk().slurm_conf("PartitionName=first Nodes=ALL PriorityTier=10");
    is_next(settings, &["--partition=first", "--priority=1000"], &["--priority=2000"])
}

#[test]
fn sched_line_before_backfill_ran() -> Result<()> {
    is_next(without_backfill(), &["--priority=1000"], &["--priority=1000"])
}

#[test]
fn sched_line_without_backfill() -> Result<()> {
    // sched/builtin looks at no job behind a waiting job of the same Slurm partition, but it does in other
    // ones.
    let settings = without_backfill().slurm_conf("SchedulerType=sched/builtin");
    let settings = settings.slurm_conf("PartitionName=small Nodes=ALL");
    is_next(settings, &[], &["--partition=small"])
}

#[test]
fn sched_line_is_left_by_held_and_cancelled_jobs() -> Result<()> {
    // Without backfill, a plan that no scheduler renews lives for two minutes.
    without_backfill().run(|cluster| {
        running_for(cluster, 32, 60, &[])?;
        let large = ipus(cluster, 64, 60, &[])?;
        let first = ipus(cluster, 1, 600, &[])?;
        waits(cluster, first, &kept_for(large))?;
        cluster.scontrol(&["hold", &large.to_string()])?;
        running_for(cluster, 1, 600, &[])?;
        runs(cluster, first)?;
        cluster.scontrol(&["release", &large.to_string()])?;
        waits(cluster, large, "64 IPUs of pod64 needed, 30 free")?;
        // It would end after the large job can start.
        let second = ipus(cluster, 1, 900, &[])?;
        waits(cluster, second, &kept_for(large))?;
        cancel(cluster, large)?;
        running_for(cluster, 1, 600, &[])?;
        runs(cluster, second)
    })
}

#[test]
fn sched_line_has_one_task_of_an_array() -> Result<()> {
    brisk().run(|cluster| {
        let first = running_for(cluster, 64, 60, &[])?;
        let end = cluster.end_of(first)? + 1;
        let tasks = ipus(cluster, 64, 100, &["--array=0-7"])?;
        expected_at(cluster, tasks, end)?;
        let behind = ipus(cluster, 1, 10, &[])?;
        expected_at(cluster, behind, end + 100 * 60)?;
        // A task that has started leaves the line, and the next task enters it.
        let_go(cluster, first)?;
        let task = running_task(cluster, tasks)?;
        waits(cluster, behind, "vipu: 1 IPU of pod64 needed, 0 free")?;
        expected_at(cluster, behind, cluster.end_of(task)? + 1 + 100 * 60)
    })
}

/// Waits until a task of an array runs.
fn running_task(cluster: &Cluster, array: JobId) -> Result<JobId> {
    wait_for(&format!("a task of {array} to run"), LIMIT, || {
        let task = |job: &JobView| job.array == Some(array) && job.state == "RUNNING";
        Ok(cluster.jobs()?.into_iter().find(task).map(|job| job.id))
    })
}

/// An array that runs as many tasks as it may (`%1`) waits for its own tasks, and not for IPUs.
#[test]
fn sched_array_at_its_task_limit_keeps_no_ipus() -> Result<()> {
    brisk().run(|cluster| {
        let [one, two] = [running_for(cluster, 32, 60, &[])?, running_for(cluster, 32, 60, &[])?];
        let array = ipus(cluster, 16, 60, &["--array=0-3%1", "--priority=1000"])?;
        waits(cluster, array, "vipu: 16 IPUs of pod64 needed, 0 free")?;
        let other = ipus(cluster, 16, 120, &["--priority=10"])?;
        cancel(cluster, two)?;
        waits(cluster, array, "JobArrayTaskLimit")?;
        runs(cluster, other)?;
        let_go(cluster, one)
    })
}

#[test]
fn sched_line_het_components_start_together() -> Result<()> {
    brisk().nodes(4).run(|cluster| {
        let first = running_for(cluster, 8, 60, &[])?;
        let common = cluster.end_of(first)? + 1;
        let component = ["--gres=vipu:pod64:32", "--time=5"];
        let leader = submit(cluster, &[&component[..], &[":"], &component].concat())?;
        let both = [leader, JobId(leader.0 + 1)];
        for component in both {
            waits(cluster, component, "vipu: the components of this job need 64 IPUs of pod64 together")?;
        }
        wait_until("one start of both components", LIMIT, || {
            Ok(cluster.squeue(leader, "%S")?.lines().all(|start| start.parse() == Ok(common)))
        })?;
        // Others go before it. One that would delay it waits.
        let small = running_for(cluster, 4, 1, &[])?;
        let late = ipus(cluster, 16, 90, &[])?;
        waits(cluster, late, &kept_for(both[1]))?;
        cancel(cluster, late)?;
        let never = ["--gres=vipu:pod64:64", ":", "--gres=vipu:pod64:64"];
        let refused = cluster.sbatch_command("true", &never)?.output()?;
        let why = "1: vipu: the components ask for 128 IPUs of pod64 together, which has 64";
        ensure!(refused.code != 0 && refused.stderr.contains(why), "{refused:?}");
        let_go(cluster, small)?;
        let_go(cluster, first)?;
        both.into_iter().try_for_each(|component| runs(cluster, component))?;
        cancel(cluster, leader)?;
        both.into_iter().try_for_each(|component| ended(cluster, component, "CANCELLED").map(drop))
    })
}
