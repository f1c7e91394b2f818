//! Partitions that are made while their jobs still wait (`Prepare`).

mod which_jobs;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, JobId, JobView, main_job, wait_until};

use crate::jobs::{cancel, most_at_once, runs, update};
use crate::{LIMIT, quick, slow};

/// The reason of a job whose partition is being made.
const PREPARING: &str = "vipu: preparing";

fn words(job: &JobView) -> String {
    job.reason.replace('_', " ")
}

fn preparing(cluster: &Cluster, job: JobId) -> Result<()> {
    let is_it = |job: &JobView| job.state == "PENDING" && words(job) == PREPARING;
    cluster.await_job(job, "to be prepared", LIMIT, is_it).map(drop)
}

/// Checks that Slurm has never held the job's launch.
fn was_never_configuring(cluster: &Cluster, job: JobId) -> Result<()> {
    let log = cluster.slurmctld_log();
    let configured = log.lines().find(|line| line.contains(&format!("Configuration for JobId={job} ")));
    ensure!(configured.is_none(), "{configured:?}");
    Ok(())
}

fn there_are(cluster: &Cluster, jobs: &[JobId]) -> Result<()> {
    let wanted: Vec<_> = jobs.iter().map(|job| main_job::partition_name(*job, 0)).collect();
    wait_until(&format!("the partitions {wanted:?} and no others"), LIMIT, || {
        Ok(cluster.mock().partitions()? == wanted)
    })
}

#[test]
fn user_prepare_starts_a_job_at_once() -> Result<()> {
    slow(1).vipu_conf("Prepare=all").run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        preparing(cluster, job)?;
        let batch = main_job::batch_ended(cluster, job, 16)?;
        let comment = cluster.job(job)?.system_comment;
        ensure!(comment == format!("vipu: partition slurm_{job}: 16 IPUs on pod64"), "{comment}");
        let runs = [batch, main_job::srun(cluster, 4)?, main_job::salloc(cluster, 1)?];
        for run in &runs {
            was_never_configuring(cluster, run.job)?;
        }
        // With `interactive`, batch jobs are not prepared.
        cluster.write_vipu_conf(&["Prepare=interactive"])?;
        cluster.reconfigure()?;
        main_job::batch(cluster, 2)?;
        let run = main_job::srun(cluster, 8)?;
        was_never_configuring(cluster, run.job)
    })
}

#[test]
fn user_prepare_leaves_nothing_of_a_job_that_does_not_want_it() -> Result<()> {
    slow(3).vipu_conf("Prepare=all").run(|cluster| {
        let submit = |args: &[&str]| -> Result<JobId> {
            let job = cluster.sbatch(main_job::SHOW, &[args, &["--gres=vipu:pod64:16"]].concat())?;
            preparing(cluster, job)?;
            Ok(job)
        };
        let cancelled = submit(&[])?;
        cancel(cluster, cancelled)?;
        there_are(cluster, &[])?;
        let held = submit(&[])?;
        cluster.scontrol(&["hold", &held.to_string()])?;
        there_are(cluster, &[])?;
        // The request is smaller by the time that the job may start.
        update(cluster, held, &["Gres=vipu:pod64:8"])?;
        cluster.scontrol(&["release", &held.to_string()])?;
        preparing(cluster, held)?;
        update(cluster, held, &["Gres=vipu:pod64:4"])?;
        main_job::batch_ended(cluster, held, 4)?;
        there_are(cluster, &[])
    })
}

#[test]
fn user_prepare_gives_way() -> Result<()> {
    // With multifactor, the default of later releases, all jobs here have one priority, whatever their
    // --nice.
    let settings = slow(2).slurm_conf("PriorityType=priority/basic");
    settings.vipu_conf("Prepare=all").vipu_conf("PrepareWait=1").run(|cluster| {
        // Schedulers take their time: partitions that have to give way take for ever, or long, to make.
        let on = |effect, job| Fault::new(effect).on(&main_job::partition_name(JobId(job), 0)).times(1);
        cluster.mock().inject(on(Effect::CreateStuck, 1))?;
        cluster.mock().inject(on(Effect::SlowCreate { factor: 4.0 }, 3))?;
        // A preparation gives way to a job that comes first and has nodes.
        let later = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--nice=1000"])?;
        preparing(cluster, later)?;
        let ran = main_job::sbatch(cluster, 64)?;
        let again = main_job::batch_ended(cluster, later, 64)?;
        let again = cluster.mock().record(&again.partition)?;
        let made = cluster.mock().record(&ran.partition)?;
        ensure!(again.create_request > made.create_request, "{again:?} was made before {made:?}");
        // A preparation also ends when another job takes the nodes, because other jobs may use the IPUs.
        let waits =
            cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--exclusive", "--nice=1000"])?;
        ensure!(waits == JobId(3), "{waits}");
        preparing(cluster, waits)?;
        let other = cluster.sbatch("sleep 1000", &["--exclusive"])?;
        runs(cluster, other)?;
        cluster.mock().await_removed(&main_job::partition_name(waits, 0), LIMIT)?;
        there_are(cluster, &[])?;
        cancel(cluster, other)?;
        main_job::batch_ended(cluster, waits, 64).map(drop)
    })
}

#[test]
fn user_prepare_is_not_hoarded() -> Result<()> {
    slow(2).vipu_conf("Prepare=all").run(|cluster| {
        // All jobs want the whole of the only node: only one of them can start at a time.
        let submit =
            |args: &[&str]| cluster.sbatch(main_job::SHOW, &[args, &["--gres=vipu:pod64:1"]].concat());
        let jobs: Vec<JobId> = (0..6).map(|_| submit(&["--exclusive"])).collect::<Result<_>>()?;
        for job in &jobs {
            main_job::batch_ended(cluster, *job, 1)?;
        }
        there_are(cluster, &[])?;
        // One partition exists or is being made, and one is being removed.
        let made = cluster.mock().report()?.partitions;
        let most = most_at_once(&made);
        ensure!(most <= 2, "{most} partitions at once for jobs of which one can run");
        ensure!(made.len() == jobs.len(), "{} partitions for {} jobs", made.len(), jobs.len());
        // Of jobs that find nodes beside each other, PrepareMax are prepared. The next ones start the
        // ordinary way.
        let jobs: Vec<JobId> = (0..3).map(|_| submit(&[])).collect::<Result<_>>()?;
        let log = |job: &JobId| cluster.slurmctld_log().contains(&format!("Configuration for JobId={job} "));
        for job in &jobs {
            main_job::batch_ended(cluster, *job, 1)?;
        }
        let configured: Vec<_> = jobs.iter().map(log).collect();
        ensure!(configured == [false, false, true], "{configured:?}");
        Ok(())
    })
}

#[test]
fn user_prepare_failure_leaves_jobs_as_they_are() -> Result<()> {
    const TEXT: &str = "link training failed on ag3";
    quick().vipu_conf("Prepare=all").vipu_conf("CreateTimeout=2").expect_log(TEXT).run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }))?;
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        let is_held = |job: &JobView| job.state == "PENDING" && job.system_comment.contains(TEXT);
        cluster.await_job(job, "to be held", LIMIT, is_held)?;
        cluster.mock().clear()?;
        cancel(cluster, job)?;
        there_are(cluster, &[])?;
        // The tasks of an array are not prepared either, because they have no ids of their own yet.
        let array = cluster.sbatch("true", &["--array=1-3", "--gres=vipu:pod64:8"])?;
        wait_until("the array to end", LIMIT, || {
            let jobs = cluster.jobs()?;
            Ok(jobs.iter().filter(|job| job.array == Some(array) && job.state == "COMPLETED").count() == 3)
        })?;
        let held_back = format!("Configuration for JobId={array}_1");
        ensure!(cluster.slurmctld_log().contains(&held_back), "{}", cluster.slurmctld_log());
        there_are(cluster, &[])
    })
}

#[test]
fn user_prepare_with_a_failing_removal_holds_up_no_job() -> Result<()> {
    const TEXT: &str = "link training failed on ag3";
    quick().vipu_conf("CreateTimeout=4").expect_log(TEXT).run(|cluster| {
        let first = main_job::partition_name(JobId(1), 0);
        cluster.mock().inject(Fault::new(Effect::CreateError { text: TEXT.into() }).on(&first))?;
        cluster.mock().inject(Fault::new(Effect::RemoveFail { text: TEXT.into() }).on(&first))?;
        let run = main_job::srun(cluster, 16)?;
        ensure!(run.partition == format!("{first}p1"), "{run:?}");
        there_are(cluster, &[JobId(1)])?;
        cluster.mock().cause(Incident::Vanish { partition: first })
    })
}
