//! Jobs that end otherwise than by themselves.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::main_job;

use crate::{LIMIT, quick, slow};

#[test]
fn job_cancel_while_creating() -> Result<()> {
    slow(3).run(|cluster| {
        let job = cluster.sbatch("echo it ran", &["--gres=vipu:pod64:16"])?;
        main_job::await_creating(cluster, job)?;
        let record = cluster.mock().await_created(&format!("slurm_{job}"), LIMIT)?;
        let cancelled = Instant::now();
        cluster.command("scancel").args(&[&job.to_string()]).success()?;
        let ended = cluster.await_end(job, LIMIT)?;
        println!("the job was over {:?} after scancel", cancelled.elapsed());
        ensure!(ended.state == "CANCELLED", "{ended:?}");
        let gone = cluster.mock().await_removed(&record.id, LIMIT)?;
        ensure!(gone.remove_request.is_some_and(|removed| removed > gone.create_request), "{gone:?}");
        ensure!(!cluster.job_output(job).contains("it ran"));
        Ok(())
    })
}

#[test]
fn job_cancel_while_running() -> Result<()> {
    quick().run(|cluster| {
        let job = cluster.sbatch("sleep 1000", &["--gres=vipu:pod64:16"])?;
        cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        cluster.command("scancel").args(&[&job.to_string()]).success()?;
        ensure!(cluster.await_end(job, LIMIT)?.state == "CANCELLED");
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT).map(drop)
    })
}

#[test]
fn job_requeue() -> Result<()> {
    quick().run(|cluster| {
        let script = format!("{}\n[ \"$SLURM_RESTART_COUNT\" ] || sleep 1000", main_job::SHOW);
        let job = cluster.sbatch(&script, &["--gres=vipu:pod64:8", "--requeue"])?;
        cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING")?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        // Slurm lets a requeued job wait for two minutes, unless it is told that it may begin.
        cluster.await_job(job, "to wait again", LIMIT, |job| job.state == "PENDING" && job.restarts == 1)?;
        cluster.scontrol(&["update", &format!("JobId={job}"), "StartTime=now"])?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.restarts == 1, "{ended:?}");
        let partitions: Vec<_> =
            cluster.mock().report()?.partitions.into_iter().map(|record| record.id).collect();
        ensure!(partitions == [format!("slurm_{job}"), format!("slurm_{job}r1")], "{partitions:?}");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&partitions[1], 8)
    })
}

#[test]
fn job_requeue_while_creating() -> Result<()> {
    slow(2).run(|cluster| {
        let job = cluster.sbatch(main_job::SHOW, &["--gres=vipu:pod64:8", "--requeue"])?;
        main_job::await_creating(cluster, job)?;
        cluster.scontrol(&["requeue", &job.to_string()])?;
        // No node knows the job yet, so it need not wait before it begins again.
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.restarts == 1, "{ended:?}");
        main_job::Shown::parse(&cluster.job_output(job))?.check(&format!("slurm_{job}r1"), 8)
    })
}

#[test]
fn job_suspended_while_creating_keeps_its_partition() -> Result<()> {
    slow(2).run(|cluster| {
        let job = cluster.sbatch("sleep 1000", &["--gres=vipu:pod64:8"])?;
        main_job::await_creating(cluster, job)?;
        cluster.scontrol(&["suspend", &job.to_string()])?;
        let partition = format!("slurm_{job}");
        testbed::wait_until("the partition to be active", LIMIT, || {
            Ok(cluster.slurmctld_log().contains(&format!("partition {partition} of 8 IPUs made")))
        })?;
        cluster.scontrol(&["resume", &job.to_string()])?;
        cluster.await_job(job, "to go on", LIMIT, |job| job.state == "RUNNING")?;
        ensure!(cluster.mock().partitions()? == [partition]);
        Ok(())
    })
}

#[test]
fn job_partition_outlives_the_last_process() -> Result<()> {
    // The script ignores SIGTERM: it is killed KillWait later, and has its IPUs until then.
    quick().slurm_conf("KillWait=2").run(|cluster| {
        let script = "trap '' TERM\necho ready\nwhile :; do sleep 0.1; done";
        let job = cluster.sbatch(script, &["--gres=vipu:pod64:4"])?;
        testbed::wait_until("the script to ignore signals", LIMIT, || {
            Ok(cluster.job_output(job).contains("ready"))
        })?;
        let cancelled = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        cluster.command("scancel").args(&[&job.to_string()]).success()?;
        let record = cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        let removed = record.remove_request.context("it was never removed")?;
        let kept = Duration::from_nanos(removed.0).saturating_sub(cancelled);
        ensure!(kept >= Duration::from_millis(1500), "the partition went {kept:?} after scancel");
        Ok(())
    })
}
