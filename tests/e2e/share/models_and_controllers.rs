//! Several models, several controllers of one model, one allocation of a controller, and IPUs that slurm-vipu chooses.

use anyhow::{Context, Result, ensure};
use mock_vipu::Incident;
use testbed::{Cluster, JobId, Settings, main_job, wait_until};

use crate::jobs::{cancel, ended, logged, partition, restart_slurmctld, runs_on, waits};
use crate::{LIMIT, let_go, quick, stay};

/// A cluster with a separate Pod16, behind the second controller, beside the Pod64.
fn with_pod16() -> Settings {
    quick().controller(&["--preset=pod16"]).model("pod16", &[1], &["MaxIpusPerJob=16"])
}

/// A cluster whose Pod64s are behind two controllers.
fn two_controllers() -> Settings {
    quick().controller(&[]).controllers(&[0, 1]).slurm_conf("SchedulerParameters=bf_interval=1")
}

/// Checks that the controller of this number has the partition of this job, and no other controller has it.
pub(super) fn is_on(cluster: &Cluster, job: JobId, number: usize) -> Result<()> {
    let partition = partition(job);
    for other in 0..2 {
        let has = cluster.controller(other).partitions()?.contains(&partition);
        ensure!(has == (other == number), "controller {other} has {partition}: {has}");
    }
    Ok(())
}

/// Submits a job and waits until its reason has these words.
fn waiting(cluster: &Cluster, ipus: u32, reason: &str) -> Result<JobId> {
    let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:pod64:{ipus}")])?;
    waits(cluster, job, reason)?;
    Ok(job)
}

#[test]
fn sched_two_models_on_one_node() -> Result<()> {
    with_pod16().extra_gres("vipu:pod16:no_consume:16").run(|cluster| {
        let large = stay(cluster, 64)?;
        is_on(cluster, large, 0)?;
        // Both jobs are on one node at one time.
        runs_on(cluster, "pod16", 16, 1)?;
        let_go(cluster)?;
        ended(cluster, large, "COMPLETED").map(drop)
    })
}

#[test]
fn sched_second_controller_takes_jobs_that_the_first_refuses() -> Result<()> {
    two_controllers().expect_log("no room").run(|cluster| {
        // The listing does not show which IPUs are broken: by the listing, half of the first Pod is free.
        theirs(cluster, "theirs", 16, 0)?;
        cluster.controller(0).cause(Incident::AgentDown { agent: "ag9".into() })?;
        cluster.reconfigure()?;
        // After a reconfigure, slurmctld may hear from the second controller first.
        wait_until("a job to go to the first controller", LIMIT, || {
            let job = cluster.sbatch("true", &["--gres=vipu:pod64:1"])?;
            ended(cluster, job, "COMPLETED")?;
            Ok(cluster.controller(0).record(&partition(job)).is_ok())
        })?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:32"])?;
        ended(cluster, job, "COMPLETED")?;
        let restarts = cluster.job(job)?.restarts;
        ensure!(restarts == 1, "{restarts} restarts");
        let second = cluster.controller(1).record(&main_job::partition_name(job, 1));
        second.context("on the second controller").map(drop)
    })
}

#[test]
fn sched_one_of_two_controllers_down() -> Result<()> {
    two_controllers().vipu_conf("ApiTimeout=2").run(|cluster| {
        let (first, second) = (stay(cluster, 64)?, stay(cluster, 32)?);
        is_on(cluster, first, 0)?;
        is_on(cluster, second, 1)?;
        // The next slurmctld knows the controller of each job.
        restart_slurmctld(cluster)?;
        cluster.controller(0).refuse()?;
        cluster.reconfigure()?;
        logged(cluster, &format!("controller 127.0.0.1:{}: ", cluster.controller(0).port()))?;
        let third = stay(cluster, 16)?;
        is_on(cluster, third, 1)?;
        let last = waiting(cluster, 64, "16 free, largest block 16; 1 controller does not answer")?;
        cluster.controller(0).clear()?;
        let_go(cluster)?;
        for job in [first, second, third, last] {
            ended(cluster, job, "COMPLETED")?;
        }
        runs_on(cluster, "pod64", 64, 0).map(drop)
    })
}

/// Makes a partition, in the name of another user, that begins at this IPU.
fn theirs(cluster: &Cluster, id: &str, size: u32, first: u32) -> Result<()> {
    cluster.mock().cause(Incident::Foreign { id: id.into(), size, first: Some(first) })?;
    cluster.reconfigure()
}

#[test]
fn sched_allocation_alone_counts() -> Result<()> {
    let agents: Vec<_> = (9..=16).map(|agent| format!("ag{agent}")).collect();
    let agents = format!("AllocationAgents={}", agents.join(","));
    let settings = quick().mock(&["--allocation=a=1-8", "--allocation=b=9-16"]);
    let settings = settings.slurm_conf("SchedulerParameters=bf_interval=1").vipu_conf("Allocation=c");
    settings.run(|cluster| {
        // An allocation that is missing is the reason.
        let early = waiting(cluster, 1, "allocation 'c'")?;
        cancel(cluster, early)?;
        cluster.write_vipu_conf(&["Allocation=b", &agents])?;
        cluster.reconfigure()?;
        // All of the other allocation is free at first. Then a part of it is used.
        let whole = waiting(cluster, 64, "64 IPUs of pod64 needed, 32 free, largest block 32")?;
        cancel(cluster, whole)?;
        theirs(cluster, "in_a", 16, 0)?;
        let half = main_job::sbatch(cluster, 32)?;
        let record = cluster.mock().record(&half.partition)?;
        ensure!(record.tenures[0].ipus.iter().all(|ipu| (32..64).contains(ipu)), "{record:?}");
        // Partitions of others in this cluster's allocation count, at their place.
        let job = stay(cluster, 16)?;
        theirs(cluster, "in_b", 1, 48)?;
        theirs(cluster, "in_b_too", 1, 56)?;
        waiting(cluster, 8, "8 IPUs of pod64 needed, 14 free, largest block 4")?;
        let_go(cluster)?;
        ended(cluster, job, "COMPLETED").map(drop)
    })
}

/// The controller would put each partition far from the others.
#[test]
fn sched_explicit_placement_keeps_blocks_whole() -> Result<()> {
    let explicit = "Placement=explicit Cluster=pod64";
    quick().mock(&["--placement=scatter"]).vipu_conf(explicit).run(|cluster| {
        stay(cluster, 16)?;
        stay(cluster, 16)?;
        main_job::sbatch(cluster, 32)?;
        let_go(cluster)
    })
}
