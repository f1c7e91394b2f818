//! Panics of the plugin: slurmctld lives, the log names the job, and no job is lost.

use anyhow::{Result, ensure};
use testbed::{Cluster, Failpoint, JobId, JobView, Settings, main_job, wait_until};

use crate::jobs::{ended, logged, restart_slurmctld, update};
use crate::{LIMIT, quick, stay};

const WORDS: &str = "as the test wants it";
const SIXTEEN: &str = "--gres=vipu:pod64:16";

fn settings() -> Settings {
    // The two lines of a panic, and the line of the code that caught it.
    let expected = ["armed.rs", WORDS, "internal error", "IPU job", "select_g_job_begin"];
    let quick = quick().failpoints().slurm_conf("SchedulerParameters=bf_interval=1,sched_interval=2");
    expected.into_iter().fold(quick, Settings::expect_log)
}

fn arm(cluster: &Cluster, place: &'static str) -> Result<()> {
    cluster.arm_panic(Failpoint(place), WORDS)
}

fn is_armed(cluster: &Cluster, place: &str) -> bool {
    cluster.layout().failpoints().join(place).exists()
}

/// Waits until the code that caught the panic has logged this, with the job.
fn was_caught(cluster: &Cluster, place: &str, of: &str) -> Result<()> {
    logged(cluster, &format!("{place} of {of}: internal error, please report: "))
}

fn says_internal_error(job: &JobView) -> bool {
    job.reason.contains("internal_error")
}

fn is_in_trouble(job: &JobView) -> bool {
    job.state == "PENDING" && job.reason == "vipu:_pod64_is_in_trouble"
}

fn is_held(job: &JobView) -> bool {
    let (comment, hint) = (&job.system_comment, format!("scontrol release {}", job.id));
    job.state == "PENDING" && comment.contains("internal error") && comment.contains(&hint)
}

/// Submits a job that panics at this place and still ends normally.
fn survives(cluster: &Cluster, place: &'static str, caught_by: &str) -> Result<()> {
    arm(cluster, place)?;
    let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
    was_caught(cluster, caught_by, &format!("job {job}"))?;
    main_job::batch_ended(cluster, job, 16)?;
    ensure!(!is_armed(cluster, place), "{place} was not reached");
    Ok(())
}

/// Makes every job panic at this place. The job waits, with the reason, until the panics stop.
fn waits_with_a_reason(cluster: &Cluster, place: &'static str, caught_by: &str) -> Result<()> {
    cluster.arm_panic(Failpoint(place), &format!("always {WORDS}"))?;
    let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
    cluster.await_job(job, "to say why it waits", LIMIT, says_internal_error)?;
    was_caught(cluster, caught_by, &format!("job {job}"))?;
    let plain = cluster.sbatch("true", &[])?;
    ended(cluster, plain, "COMPLETED")?;
    cluster.let_pass(Failpoint(place))?;
    main_job::batch_ended(cluster, job, 16).map(drop)
}

#[test]
fn fault_panic_in_each_callback() -> Result<()> {
    settings().run(|cluster| {
        arm(cluster, "job_submit")?;
        let refused = cluster.sbatch_command("true", &[SIXTEEN])?.output()?;
        ensure!(refused.code != 0 && refused.stderr.contains("internal error"), "{refused:?}");
        for (place, caught_by) in
            [("job_test", "job_test"), ("job_begin", "job_begin"), ("begin", "job_begin")]
        {
            waits_with_a_reason(cluster, place, caught_by)?;
        }
        survives(cluster, "job_tested", "job_tested")?;
        survives(cluster, "job_fini", "job_fini")?;
        // This place is between the raise of the completion gate and the event for the ledger.
        survives(cluster, "fini", "job_fini")?;
        arm(cluster, "job_ready")?;
        main_job::srun(cluster, 16)?;
        ensure!(!is_armed(cluster, "job_ready"));
        arm(cluster, "reconfigure")?;
        cluster.reconfigure()?;
        wait_until("reconfigure to panic", LIMIT, || Ok(!is_armed(cluster, "reconfigure")))?;
        // If a new slurmctld panicked, this reconfigure repairs it.
        cluster.reconfigure()?;
        main_job::sbatch(cluster, 16).map(drop)
    })
}

#[test]
fn fault_panic_on_the_host_thread() -> Result<()> {
    settings().run(|cluster| {
        survives(cluster, "open_completion", "open_completion")?;
        arm(cluster, "open_launch")?;
        let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
        cluster.await_job(job, "to be held with the reason", LIMIT, is_held)?;
        was_caught(cluster, "open_launch", &format!("job {job}"))?;
        cluster.scontrol(&["release", &job.to_string()])?;
        ended(cluster, job, "COMPLETED")?;
        // The job's launch gate was already open: the job goes on.
        survives(cluster, "launch", "open_launch")
    })
}

#[test]
fn fault_panic_in_the_ledger_as_a_job_begins() -> Result<()> {
    settings().run(|cluster| {
        arm(cluster, "told_begin")?;
        let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
        cluster.await_job(job, "to wait with the reason", LIMIT, is_in_trouble)?;
        was_caught(cluster, "told_begin", &format!("job {job}"))?;
        only_others_run(cluster, job)
    })
}

#[test]
fn fault_panic_in_the_ledger_as_a_partition_is_up() -> Result<()> {
    settings().expect_log("ended while slurmctld was away").run(|cluster| {
        let running = stay(cluster, 4)?;
        arm(cluster, "told_up")?;
        let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
        cluster.await_job(job, "to be held", LIMIT, is_held)?;
        was_caught(cluster, "told_up", &format!("partition slurm_{job}"))?;
        ensure!(cluster.job(running)?.state == "RUNNING");
        crate::let_go(cluster)?;
        main_job::batch_ended(cluster, running, 4)?;
        // Slurm delays a requeued job by two minutes.
        update(cluster, job, &["StartTime=now"])?;
        cluster.scontrol(&["release", &job.to_string()])?;
        only_others_run(cluster, job)
    })
}

#[test]
fn fault_panic_in_the_ledger_as_a_job_ends() -> Result<()> {
    settings().expect_log("ended while slurmctld was away").run(|cluster| {
        arm(cluster, "told_end")?;
        let job = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
        ended(cluster, job, "COMPLETED")?;
        was_caught(cluster, "told_end", &format!("job {job}"))?;
        let waiting = cluster.sbatch(main_job::SHOW, &[SIXTEEN])?;
        cluster.await_job(waiting, "to wait with the reason", LIMIT, is_in_trouble)?;
        only_others_run(cluster, waiting)?;
        cluster.mock().await_removed(&format!("slurm_{job}"), LIMIT).map(drop)
    })
}

/// Checks that only jobs without IPUs run until slurmctld is restarted. After the restart this job runs, too.
fn only_others_run(cluster: &Cluster, job: JobId) -> Result<()> {
    let plain = cluster.sbatch("true", &[])?;
    ended(cluster, plain, "COMPLETED")?;
    cluster.await_job(job, "to wait with the reason", LIMIT, is_in_trouble)?;
    logged(cluster, "no IPU job starts until slurmctld is restarted")?;
    cluster.await_saved()?;
    restart_slurmctld(cluster)?;
    ended(cluster, job, "COMPLETED").map(drop)
}
