//! Jobs that end so that a job of a higher PriorityTier gets their IPUs.

use std::time::Duration;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, JobId, Settings, main_job, wait_until};

use crate::LIMIT;
use crate::jobs::{
    brisk, came_after, ended, ipus, let_go, looked_at, partition, running_for, runs, submit, waits,
    waits_again,
};

/// The Slurm partition whose jobs preempt those of the other.
const FIRST: &str = "--partition=first";

/// A cluster with preemption by PriorityTier.
fn preempting(mode: &str) -> Settings {
    brisk()
        .slurm_conf("PreemptType=preempt/partition_prio")
        .slurm_conf(&format!("PreemptMode={mode}"))
        .slurm_conf("PartitionName=first Nodes=ALL PriorityTier=10")
}

/// Returns the jobs whose partitions the controller was asked to remove.
fn victims(cluster: &Cluster, jobs: &[JobId]) -> Result<Vec<JobId>> {
    let report = cluster.mock().report()?;
    let goes =
        |job: &JobId| report.partition(&partition(*job)).is_some_and(|own| own.remove_request.is_some());
    Ok(jobs.iter().copied().filter(goes).collect())
}

/// Waits for the removal of a partition of these jobs. Returns the one victim.
fn victim(cluster: &Cluster, jobs: &[JobId]) -> Result<JobId> {
    wait_until("a job to be preempted", LIMIT, || Ok(!victims(cluster, jobs)?.is_empty()))?;
    let found = victims(cluster, jobs)?;
    ensure!(found.len() == 1, "{found:?} were preempted");
    Ok(found[0])
}

#[test]
fn sched_preemption_of_the_fewest() -> Result<()> {
    preempting("REQUEUE").run(|cluster| {
        let plain = submit(cluster, &["--time=600"])?;
        runs(cluster, plain)?;
        // One job has one half of the IPUs, eight jobs have the other.
        let half = running_for(cluster, 32, 600, &[])?;
        let small = (0..8).map(|_| running_for(cluster, 4, 600, &[])).collect::<Result<Vec<_>>>()?;
        let first = ipus(cluster, 32, 60, &[FIRST])?;
        runs(cluster, first)?;
        came_after(cluster, first, half)?;
        ensure!(victims(cluster, &small)?.is_empty(), "one would have been enough");
        waits_again(cluster, half, 1)?;
        // The next job takes the IPUs of one small job.
        let second = ipus(cluster, 4, 60, &[FIRST])?;
        runs(cluster, second)?;
        let last = victim(cluster, &small)?;
        came_after(cluster, second, last)?;
        ensure!(cluster.job(plain)?.state == "RUNNING", "it has no IPUs that somebody needs");
        Ok(())
    })
}

#[test]
fn sched_preemption_by_a_slow_removal_takes_no_more() -> Result<()> {
    // The victim is COMPLETING for RemoveWait only. Its IPUs are in use as long as the partition stays.
    preempting("REQUEUE").vipu_conf("RemoveWait=5").run(|cluster| {
        let quarters = (0..4).map(|_| running_for(cluster, 16, 600, &[])).collect::<Result<Vec<_>>>()?;
        cluster.mock().inject(Fault::new(Effect::RemoveStuck).times(1))?;
        let first = ipus(cluster, 16, 60, &[FIRST])?;
        let victim = victim(cluster, &quarters)?;
        // Ten cycles of backfill, one a second.
        looked_at(cluster, first, 10)?;
        ensure!(victims(cluster, &quarters)? == [victim], "more were preempted for the same IPUs");
        ensure!(cluster.job(first)?.state == "PENDING", "the IPUs are not free");
        cluster.mock().cause(Incident::Vanish { partition: partition(victim) })?;
        runs(cluster, first)?;
        came_after(cluster, first, victim)?;
        ensure!(victims(cluster, &quarters)? == [victim]);
        Ok(())
    })
}

#[test]
fn sched_preemption_by_suspending_frees_no_ipus() -> Result<()> {
    let settings = preempting("SUSPEND,GANG").cpus(2).slurm_conf("SelectTypeParameters=CR_CPU");
    let settings = settings.slurm_conf("PartitionName=low Nodes=ALL OverSubscribe=FORCE:1");
    settings.run(|cluster| {
        let low = running_for(cluster, 64, 600, &["--partition=low", "--cpus-per-task=2"])?;
        let first = ipus(cluster, 64, 60, &[FIRST])?;
        waits(cluster, first, "vipu: 64 IPUs of pod64 needed, 0 free")?;
        ensure!(cluster.job(low)?.state == "RUNNING", "suspending it frees no IPU");
        let plain = submit(cluster, &[FIRST])?;
        cluster.await_job(low, "to be suspended", LIMIT, |job| job.state == "SUSPENDED")?;
        runs(cluster, plain)?;
        ensure!(cluster.mock().partitions()? == [partition(low)], "a suspended job keeps its IPUs");
        let_go(cluster, plain)?;
        runs(cluster, low)
    })
}

#[test]
fn sched_preemption_for_nodes_and_ipus() -> Result<()> {
    preempting("CANCEL").cpus(3).run(|cluster| {
        let [plain, same_tier] =
            [&["--time=600"][..], &["--time=600", FIRST]].map(|args| submit(cluster, args));
        let (plain, same_tier) = (plain?, same_tier?);
        [plain, same_tier].iter().try_for_each(|job| runs(cluster, *job))?;
        let whole = running_for(cluster, 64, 600, &[])?;
        let first = ipus(cluster, 32, 60, &[FIRST, "--cpus-per-task=3"])?;
        // The end of the other jobs would not help while a job of the same tier has a CPU.
        looked_at(cluster, first, 3)?;
        ensure!(cluster.job(first)?.state == "PENDING" && cluster.job(whole)?.state == "RUNNING");
        let_go(cluster, same_tier)?;
        runs(cluster, first)?;
        for job in [plain, whole] {
            ended(cluster, job, "PREEMPTED")?;
        }
        came_after(cluster, first, whole)
    })
}

#[test]
fn job_preempted_while_creating_is_requeued() -> Result<()> {
    preempting("REQUEUE").create_time(Duration::from_secs(3)).run(|cluster| {
        let victim = ipus(cluster, 64, 600, &["--requeue"])?;
        main_job::await_creating(cluster, victim)?;
        let first = running_for(cluster, 64, 60, &[FIRST])?;
        came_after(cluster, first, victim)?;
        waits_again(cluster, victim, 1)?;
        let_go(cluster, first)?;
        runs(cluster, victim)
    })
}
