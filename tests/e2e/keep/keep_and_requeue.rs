//! `--ipu-keep` and `--ipu-requeue-on`, for jobs that fail.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Cluster, JobId, main_job, wait_until};

use crate::jobs::{
    begin_again, cancel, ended, now, restart_slurmctld, running, time_is_up, waits, waits_again,
};
use crate::{LIMIT, quick};

/// Checks that the partition of this job exists with its file, and no other partition.
fn is_there(cluster: &Cluster, job: JobId) -> Result<()> {
    ensure!(cluster.mock().partitions()? == [format!("slurm_{job}")]);
    ensure!(cluster.ipuof_files()?.contains(&format!("slurm_{job}.conf")), "{:?}", cluster.ipuof_files());
    Ok(())
}

/// Returns the time from a job's end to the request to remove its partition.
fn stayed(cluster: &Cluster, job: JobId, ended: Duration) -> Result<Duration> {
    let record = cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
    let removed = Duration::from_nanos(record.remove_request.context("it was never removed")?.0);
    Ok(removed.saturating_sub(ended))
}

#[test]
fn user_keep_leaves_the_partition_of_a_failed_job_for_a_while_over_a_kill() -> Result<()> {
    quick().vipu_conf("MaxKeep=60").run(|cluster| {
        let job = cluster.sbatch("exit 3", &["--ipus=16", "--ipu-keep=30s"])?;
        let ended_job = cluster.await_end(job, LIMIT)?;
        let failed = now()?;
        let told = format!("vipu: partition slurm_{job} is kept until 2");
        ensure!(ended_job.state == "FAILED" && ended_job.system_comment.contains(&told), "{ended_job:?}");
        is_there(cluster, job)?;
        let states = cluster.command("sinfo").args(&["-h", "-o", "%T"]).success()?.stdout;
        ensure!(states == "idle\n", "the node is {states}");
        reads_the_kept_file(cluster, job)?;
        // The next slurmctld keeps it for the rest of the time.
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        is_there(cluster, job)?;
        let waiting = cluster.sbatch(main_job::SHOW, &["--ipus=64"])?;
        waits(cluster, waiting, "48 free, largest block 32; 16 kept of failed jobs")?;
        let stayed = stayed(cluster, job, failed)?;
        ensure!((25..36).contains(&stayed.as_secs()), "it stayed for {stayed:?}");
        main_job::batch_ended(cluster, waiting, 64)?;
        ensure!(!cluster.ipuof_files()?.contains(&format!("slurm_{job}.conf")));

        // A job that does not fail keeps nothing.
        let done = cluster.sbatch("true", &["--ipus=4", "--ipu-keep=60s"])?;
        ended(cluster, done, "COMPLETED")?;
        let cancelled = running(cluster, 4, &["--ipu-keep=60s"])?;
        cancel(cluster, cancelled)?;
        for job in [done, cancelled] {
            cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        }
        Ok(())
    })
}

/// Reads the file of a kept partition in a job without IPUs, as the page for users says.
fn reads_the_kept_file(cluster: &Cluster, job: JobId) -> Result<()> {
    let file = cluster.layout().ipuof().join(format!("slurm_{job}.conf"));
    let shell = r#"IPUOF_CONFIG_PATH=$FILE srun sh -c 'cat "$IPUOF_CONFIG_PATH"'"#;
    let shell = cluster.command("sh").args(&["-c", shell]).env("FILE", &file.to_string_lossy());
    let read = shell.success()?.stdout;
    ensure!(read.contains("devices"), "{read}");
    Ok(())
}

#[test]
fn user_requeue_on_chosen_exit_codes() -> Result<()> {
    quick().vipu_conf("MaxRequeues=2").vipu_conf("MaxKeep=60").run(|cluster| {
        // The job ends by its own exit code, then by a signal, then once more than the site allows.
        let script = "case $SLURM_RESTART_COUNT in '') exit 42;; 1) kill -9 $$;; *) exit 42;; esac";
        let options = ["--ipus=16", "--ipu-requeue-on=42,130-140", "--ipu-keep=3s", "--requeue"];
        let job = cluster.sbatch(script, &options)?;
        let told = waits_again(cluster, job, 1)?.system_comment;
        ensure!(told.contains("vipu: exit code 42: requeued, 1 of at most 2 times"), "{told}");
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT)?;
        begin_again(cluster, job)?;
        let told = waits_again(cluster, job, 2)?.system_comment;
        ensure!(told.contains("vipu: exit code 137: requeued, 2 of at most 2 times"), "{told}");
        begin_again(cluster, job)?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "FAILED" && ended.restarts == 2, "{ended:?}");
        ensure!(ended.system_comment.contains(&format!("slurm_{job}r2 is kept until")), "{ended:?}");
        Ok(())
    })
}

/// The pause of a requeued job in seconds, as scontrol shows it.
fn pause(cluster: &Cluster, job: JobId) -> Result<u64> {
    let record = cluster.job_record(job)?;
    let time = |key: &str| -> Result<u64> { Ok(record.get(key)?.parse()?) };
    Ok(time("EligibleTime")?.saturating_sub(time("SubmitTime")?))
}

#[test]
fn user_requeue_on_any_end_with_growing_pauses() -> Result<()> {
    quick().vipu_conf("MaxRequeues=3").vipu_conf("RequeuePause=60-600").run(|cluster| {
        let script = "case $SLURM_RESTART_COUNT in '') exit 3;; 1) kill -9 $$;; esac";
        let job = cluster.sbatch(script, &["--ipus=16", "--ipu-requeue-on=any", "--requeue"])?;
        let mut pauses = Vec::new();
        for (times, end) in (1..).zip(["exit code 3", "exit code 137", "exit code 0"]) {
            let told = waits_again(cluster, job, times)?.system_comment;
            let wanted = format!("vipu: {end}: requeued, {times} of at most 3 times, next run from 2");
            ensure!(told.contains(&wanted) && told.matches("requeued").count() == 1, "{told}");
            pauses.push(pause(cluster, job)?);
            if times == 2 {
                cluster.await_saved()?;
                restart_slurmctld(cluster)?;
            }
            begin_again(cluster, job)?;
        }
        // A pause begins with the end of its run, and Slurm submits the job anew a little later.
        let grows =
            pauses.iter().zip([60, 120, 240]).all(|(pause, whole)| (whole / 2 + 1..=whole).contains(pause));
        ensure!(grows, "{pauses:?}");
        let ended = ended(cluster, job, "COMPLETED")?;
        ensure!(ended.restarts == 3, "{ended:?}");
        for partition in ["", "r1", "r2", "r3"].map(|run| format!("slurm_{job}{run}")) {
            cluster.mock().await_removed(&partition, LIMIT)?;
        }
        Ok(())
    })
}

#[test]
fn user_requeue_on_any_ends_by_scancel() -> Result<()> {
    // Slurm's own pause of two minutes is longer than this test waits.
    quick().vipu_conf("RequeuePause=3").run(|cluster| {
        let options = ["--ipus=4", "--ipu-requeue-on=any", "--requeue", "--time=1-0"];
        let job = cluster.sbatch("echo ready\nexec sleep 600", &options)?;
        wait_until("the script to run", LIMIT, || Ok(cluster.job_output(job).contains("ready")))?;
        cluster.command("scancel").args(&["--batch", "--signal=TERM", &job.to_string()]).success()?;
        cluster.await_job(job, "to run again", LIMIT, |job| job.state == "RUNNING" && job.restarts == 1)?;
        cancel(cluster, job)?;
        let ended_job = ended(cluster, job, "CANCELLED")?;
        ensure!(ended_job.restarts == 1, "{ended_job:?}");

        let job = running(cluster, 4, &options[1..])?;
        time_is_up(cluster, job)?;
        let again = cluster.await_job(job, "to be requeued", LIMIT, |job| job.restarts == 1)?;
        ensure!(again.system_comment.contains("vipu: TIMEOUT: requeued, 1 of at most 3 times"), "{again:?}");
        cancel(cluster, job)?;
        ended(cluster, job, "CANCELLED").map(drop)
    })
}

#[test]
fn user_requeue_covers_all_of_a_heterogeneous_job() -> Result<()> {
    quick().nodes(2).slurm_conf("SchedulerParameters=bf_interval=1").run(|cluster| {
        let script = "[ \"$SLURM_RESTART_COUNT\" ] || exit 42";
        let job =
            cluster.sbatch(script, &["--ipus=4", "--ipu-requeue-on=42", "--requeue", ":", "--ipus=8"])?;
        waits_again(cluster, job, 1)?;
        let second = JobId(job.0 + 1);
        waits_again(cluster, second, 1)?;
        for partition in [job, second].map(|job| format!("slurm_{job}")) {
            cluster.mock().await_removed(&partition, LIMIT)?;
        }
        // Slurm delays the requeue of each component.
        begin_again(cluster, second)?;
        begin_again(cluster, job)?;
        let ended = cluster.await_end(job, LIMIT)?;
        ensure!(ended.state == "COMPLETED" && ended.restarts == 1, "{ended:?}");
        Ok(())
    })
}
