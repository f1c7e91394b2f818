//! `Prepare` with backfill, preemption, heterogeneous jobs, and jobs that cannot wait.

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use rustix::process::Signal;
use testbed::{Cluster, JobId, Settings, main_job, wait_for};

use super::{preparing, there_are, was_never_configuring};
use crate::jobs::{cancel, leaving_unanswered, runs, submit};
use crate::{LIMIT, let_go, slow, stay};

/// A cluster in which only the main scheduler starts jobs, and runs often. A job that backfill starts is not
/// prepared.
fn prepared(seconds: u64) -> Settings {
    slow(seconds).slurm_conf("SchedulerParameters=bf_interval=3600,sched_interval=1").vipu_conf("Prepare=all")
}

/// Checks that the job's launch was held until its partition was there.
fn was_configuring(cluster: &Cluster, job: JobId) -> Result<()> {
    let log = cluster.slurmctld_log();
    let is_its =
        |line: &str| [format!("={job} "), format!("({job}) ")].iter().any(|name| line.contains(name));
    let mut configured = log.lines().filter(|line| line.contains("Configuration for JobId="));
    ensure!(configured.any(is_its), "job {job} was never CF: {log}");
    Ok(())
}

#[test]
fn user_prepare_leaves_the_nodes_to_others() -> Result<()> {
    slow(10).vipu_conf("Prepare=all").run(|cluster| {
        let ours = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16", "--exclusive"])?;
        preparing(cluster, ours)?;
        // A job behind it in the order of both schedulers.
        let short = submit(cluster, &["--exclusive", "--time=1", "--nice=1000"])?;
        runs(cluster, short)?;
        let partition = main_job::partition_name(ours, 0);
        let is_there =
            || Ok(Some(cluster.mock().record(&partition)?).filter(|record| record.active.is_some()));
        let made = wait_for("the partition to be there", LIMIT, is_there)?;
        ensure!(cluster.job(ours)?.state == "PENDING" && cluster.job(short)?.state == "RUNNING");
        let_go(cluster)?;
        let run = main_job::batch_ended(cluster, ours, 16)?;
        was_never_configuring(cluster, ours)?;
        let record = cluster.mock().record(&run.partition)?;
        ensure!(record.create_request == made.create_request, "{record:?} was made again");
        there_are(cluster, &[])
    })
}

#[test]
fn user_prepare_shows_no_nodes_of_a_job_that_waits() -> Result<()> {
    // The nodes that the linear selector has chosen stay in a job, whatever question the selector was asked.
    let settings = slow(5).vipu_conf("Layer=linear").slurm_conf("SelectTypeParameters=CR_Memory");
    settings.vipu_conf("Prepare=all").run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:16"])?;
        preparing(cluster, job)?;
        let shown = cluster.scontrol(&["--details", "show", "job", &job.to_string()])?;
        ensure!(!shown.contains("CPU_IDs="), "{shown}");
        main_job::batch_ended(cluster, job, 16)?;
        let shown = cluster.scontrol(&["show", "job", &job.to_string()])?;
        ensure!(shown.contains("NumCPUs=16 "), "the linear selector gives whole nodes: {shown}");
        Ok(())
    })
}

#[test]
fn user_prepare_after_preemption() -> Result<()> {
    let settings = prepared(2).cpus(4).slurm_conf("PreemptType=preempt/partition_prio");
    let settings = settings.slurm_conf("PreemptMode=REQUEUE");
    settings.slurm_conf("PartitionName=first Nodes=ALL PriorityTier=10").run(|cluster| {
        // Preemption for the IPUs of a running job, and of a job that is only prepared.
        let victim = stay(cluster, 64)?;
        let waits = cluster.sbatch("true", &["--gres=vipu:pod64:32", "--exclusive"])?;
        let first = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:64", "--partition=first"])?;
        main_job::batch_ended(cluster, first, 64)?;
        was_never_configuring(cluster, first)?;
        ensure!(cluster.job(victim)?.restarts == 1, "{:?}", cluster.job(victim)?);
        cancel(cluster, victim)?;
        cluster.await_end(waits, LIMIT)?;
        there_are(cluster, &[])?;
        // Preemption for nodes: the victim has no IPUs, so no partition has to be awaited first.
        let plain = cluster.sbatch("sleep 1000", &["--exclusive", "--requeue"])?;
        runs(cluster, plain)?;
        let args = ["--gres=vipu:pod64:16", "--exclusive", "--partition=first"];
        let first = cluster.sbatch(main_job::SHOW, &args)?;
        main_job::batch_ended(cluster, first, 16)?;
        there_are(cluster, &[])?;
        cancel(cluster, plain)
    })
}

#[test]
fn user_prepare_leaves_out_heterogeneous_jobs() -> Result<()> {
    // Backfill always starts these jobs.
    let settings = slow(2).nodes(2).slurm_conf("SchedulerParameters=bf_interval=1");
    settings.vipu_conf("Prepare=all").run(|cluster| {
        let args = ["--gres=vipu:pod64:4", ":", "--gres=vipu:pod64:8"];
        let leader = cluster.sbatch(main_job::SHOW, &args)?;
        let both = [leader, JobId(leader.0 + 1)];
        main_job::batch_ended(cluster, leader, 4)?;
        for job in both {
            cluster.await_end(job, LIMIT)?;
            was_configuring(cluster, job)?;
        }
        there_are(cluster, &[])
    })
}

#[test]
fn user_prepare_leaves_out_jobs_that_cannot_wait() -> Result<()> {
    leaving_unanswered(prepared(2)).run(|cluster| {
        for by in ["srun", "salloc"] {
            for (immediate, is_prepared) in
                [("--immediate", false), ("--immediate=1", false), ("--immediate=30", true)]
            {
                let name = format!("{by}{immediate}");
                let args = [immediate, "--gres=vipu:pod64:16", "--job-name", &name, "sleep", "0.1"];
                let command = cluster.command(by).args(&args).start()?;
                let job = cluster.await_job_named(&name, LIMIT)?;
                command.success(LIMIT)?;
                if is_prepared {
                    was_never_configuring(cluster, job)?
                } else {
                    was_configuring(cluster, job)?
                }
                there_are(cluster, &[])?;
            }
        }
        // A command that hangs up, or gives up before the partition is there, leaves nothing.
        let args = ["--gres=vipu:pod64:16", "--job-name=hangs-up", "true"];
        let mut command = cluster.command("salloc").args(&args).start()?;
        let job = cluster.await_job_named("hangs-up", LIMIT)?;
        preparing(cluster, job)?;
        command.signal(Signal::HUP)?;
        there_are(cluster, &[])?;
        let patient = ["--immediate=2", "--gres=vipu:pod64:16", "--job-name=patient", "true"];
        let slow = Fault::new(Effect::SlowCreate { factor: 100.0 });
        cluster.mock().inject(slow.times(1))?;
        let refused = cluster.command("srun").args(&patient).output()?;
        ensure!(refused.code != 0 && refused.stderr.contains("Unable to allocate resources"), "{refused:?}");
        there_are(cluster, &[])
    })
}
