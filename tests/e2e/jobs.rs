//! Functions that submit and control jobs, and read their state from the queue.
//!
//! Time limits are minutes in Slurm. Jobs therefore get long limits, and a file lets them end.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use mock_vipu::PartitionRecord;
use testbed::{Cluster, JobId, JobView, Settings, main_job, next_second, wait_until};
use vipu_status::{Status, file_names};

use crate::{LIMIT, quick};

/// Room for many jobs, and a backfill every second: only backfill starts heterogeneous jobs.
pub(crate) fn brisk() -> Settings {
    roomy().slurm_conf("SchedulerParameters=bf_interval=1")
}

/// Room for many jobs, and a backfill that does not run during a test.
pub(crate) fn without_backfill() -> Settings {
    roomy().slurm_conf("SchedulerParameters=bf_interval=3600")
}

/// Accepts the lines that slurmctld logs if an srun or salloc has ended before its answer.
pub(crate) fn leaving_unanswered(settings: Settings) -> Settings {
    settings.expect_log("Broken pipe").expect_log("Zero Bytes were transmitted or received")
}

pub(crate) fn roomy() -> Settings {
    quick().cpus(64).remove_time(Duration::ZERO)
}

/// The end of a script: waits until [`let_go`] or [`crate::let_go`].
const STAY: &str = "while [ ! -e go ] && [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done\necho went";

/// Submits a batch job that shows its IPUs and then stays.
pub(crate) fn staying(cluster: &Cluster, ipus: u32, more: &[&str]) -> Result<JobId> {
    let script = format!("{}\n{STAY}", main_job::SHOW);
    cluster.sbatch(&script, &[more, &[&format!("--gres=vipu:pod64:{ipus}")]].concat())
}

/// Submits a job as [`staying`] does, and waits until it runs.
pub(crate) fn running(cluster: &Cluster, ipus: u32, more: &[&str]) -> Result<JobId> {
    let job = staying(cluster, ipus, more)?;
    runs(cluster, job)?;
    Ok(job)
}

/// Submits a batch job that stays.
pub(crate) fn submit(cluster: &Cluster, args: &[&str]) -> Result<JobId> {
    cluster.sbatch(STAY, args)
}

/// Submits a job for this number of IPUs, with a time limit in minutes.
pub(crate) fn ipus(cluster: &Cluster, ipus: u32, minutes: u32, more: &[&str]) -> Result<JobId> {
    let args = [format!("--gres=vipu:pod64:{ipus}"), format!("--time={minutes}")];
    submit(cluster, &[more, &args.each_ref().map(String::as_str)].concat())
}

/// Submits a job as [`ipus`] does, and waits until it runs.
pub(crate) fn running_for(cluster: &Cluster, size: u32, minutes: u32, more: &[&str]) -> Result<JobId> {
    let job = ipus(cluster, size, minutes, more)?;
    runs(cluster, job)?;
    Ok(job)
}

pub(crate) fn runs(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.await_job(job, "to run", LIMIT, |job| job.state == "RUNNING").map(drop)
}

/// Lets one job end while there is no slurmctld.
pub(crate) fn ends_without_slurmctld(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.stop_slurmctld()?;
    fs::write(cluster.layout().jobs().join(format!("go-{job}")), "")?;
    cluster.start_slurmctld()
}

pub(crate) fn is_pending_after(job: &JobView, restarts: u16) -> bool {
    job.state == "PENDING" && job.restarts == restarts
}

/// Waits until a job is back in the queue after this number of requeues.
pub(crate) fn waits_again(cluster: &Cluster, job: JobId, restarts: u16) -> Result<JobView> {
    cluster.await_job(job, "to wait again", LIMIT, |job| is_pending_after(job, restarts))
}

/// Lets one job end, and waits until nothing is left of it.
pub(crate) fn let_go(cluster: &Cluster, job: JobId) -> Result<()> {
    fs::write(cluster.layout().jobs().join(format!("go-{job}")), "")?;
    ended(cluster, job, "COMPLETED").map(drop)
}

/// Waits for the end of a job in this state.
pub(crate) fn ended(cluster: &Cluster, job: JobId, state: &str) -> Result<JobView> {
    let ended = cluster.await_end(job, LIMIT)?;
    ensure!(ended.state == state, "{ended:?}");
    Ok(ended)
}

pub(crate) fn cancel(cluster: &Cluster, job: JobId) -> Result<()> {
    cluster.command("scancel").args(&[&job.to_string()]).success().map(drop)
}

/// `scontrol update` of a job.
pub(crate) fn update(cluster: &Cluster, job: JobId, what: &[&str]) -> Result<()> {
    cluster.scontrol(&[&["update", &format!("JobId={job}")], what].concat()).map(drop)
}

/// Ends a job's time soon. Limits are in minutes, and the tests need shorter ones.
pub(crate) fn time_is_up(cluster: &Cluster, job: JobId) -> Result<()> {
    let soon = now()?.as_secs() + 1;
    update(cluster, job, &[&format!("EndTime=uts{soon}")])
}

/// The time since 1970.
pub(crate) fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

/// Lets a requeued job begin now instead of after Slurm's two minutes. A job that was requeued by scontrol may have
/// begun on its own.
pub(crate) fn begin_again(cluster: &Cluster, job: JobId) -> Result<()> {
    next_second()?;
    let updated = update(cluster, job, &["StartTime=now"]);
    if cluster.job(job)?.state == "PENDING" { updated } else { Ok(()) }
}

/// Stops slurmctld in order, and starts it again.
pub(crate) fn restart_slurmctld(cluster: &Cluster) -> Result<()> {
    cluster.stop_slurmctld()?;
    cluster.start_slurmctld()
}

/// The partition of a job's first run.
pub(crate) fn partition(job: JobId) -> String {
    main_job::partition_name(job, 0)
}

/// Checks that the partition of `late` was made after the partition of `early` was gone.
pub(crate) fn came_after(cluster: &Cluster, late: JobId, early: JobId) -> Result<()> {
    let gone = cluster.mock().record(&partition(early))?.removed.context("it is still there")?;
    let made = cluster.mock().record(&partition(late))?.create_request;
    ensure!(made >= gone, "job {late} had its partition before that of {early} was gone");
    Ok(())
}

/// Checks that a job of this model gets as many IPUs as it asks for, on the controller of this number, and
/// leaves nothing. Returns its nodes.
pub(crate) fn runs_on(cluster: &Cluster, model: &str, ipus: u32, number: usize) -> Result<String> {
    let job = cluster.sbatch(main_job::SHOW, &[&format!("--gres=vipu:{model}:{ipus}")])?;
    let ended = ended(cluster, job, "COMPLETED")?;
    let shown = main_job::Shown::parse(&cluster.job_output(job))?;
    let told = |name: &str| shown.environment.get(&format!("SLURM_VIPU_{name}")).map(String::as_str);
    ensure!(told("MODEL") == Some(model), "{shown:?}");
    let port = format!(":{}", cluster.controller(number).port());
    ensure!(told("CONTROLLER").is_some_and(|name| name.ends_with(&port)), "{shown:?}");
    ensure!(shown.file.devices.len() == usize::try_from(ipus)?, "{shown:?}");
    cluster.controller(number).await_removed(shown.partition()?, LIMIT)?;
    Ok(ended.nodes)
}

/// Waits until the partition of this run is gone.
pub(crate) fn gone(cluster: &Cluster, job: JobId, restarts: u16) -> Result<()> {
    cluster.mock().await_removed(&main_job::partition_name(job, restarts), LIMIT).map(drop)
}

/// Checks that these partitions exist, and no others.
pub(crate) fn there_are(cluster: &Cluster, runs: &[(JobId, u16)]) -> Result<()> {
    let mut wanted: Vec<_> =
        runs.iter().map(|(job, restarts)| main_job::partition_name(*job, *restarts)).collect();
    let mut there = cluster.mock().partitions()?;
    wanted.sort_unstable();
    there.sort_unstable();
    ensure!(there == wanted, "there are {there:?} instead of {wanted:?}");
    Ok(())
}

/// Returns the highest number of partitions at one time.
pub(crate) fn most_at_once(records: &[PartitionRecord]) -> usize {
    let there = |at| {
        records.iter().filter(move |it| it.create_request <= at && it.removed.is_none_or(|gone| gone > at))
    };
    records.iter().map(|one| there(one.create_request).count()).max().unwrap_or(0)
}

/// Waits until slurmctld says that a job's partition is made.
pub(crate) fn made(cluster: &Cluster, job: JobId, ipus: u32) -> Result<()> {
    logged(cluster, &format!("partition slurm_{job} of {ipus} IPUs made"))
}

/// Waits until slurmctld's log has these words.
pub(crate) fn logged(cluster: &Cluster, words: &str) -> Result<()> {
    wait_until(&format!("'{words}' in the log"), LIMIT, || Ok(cluster.slurmctld_log().contains(words)))
}

/// The number of resets of a partition so far.
pub(crate) fn resets(cluster: &Cluster, partition: &str) -> Result<usize> {
    let events = cluster.mock().record(partition)?.events;
    Ok(events.iter().filter(|event| event.operation == "POS_RESETTING").count())
}

/// Waits until the reason of a waiting job has these words, in squeue or in full.
pub(crate) fn waits(cluster: &Cluster, job: JobId, words: &str) -> Result<()> {
    let told = |job: &JobView| job.state == "PENDING" && reason(cluster, job).contains(words);
    cluster.await_job(job, &format!("to wait for '{words}'"), LIMIT, told).map(drop)
}

/// The reason of a job in full. squeue shows the brief form of slurm-vipu's reasons, and the status document all of it.
pub(crate) fn reason(cluster: &Cluster, job: &JobView) -> String {
    let shown = job.reason.replace('_', " ");
    let in_document = || {
        let text = fs::read(cluster.layout().state().join(file_names::WHOLE)).ok()?;
        let status = Status::parse(&text).ok()?;
        let is_it = |of: &Option<Arc<vipu_status::Job>>| of.as_ref().is_some_and(|of| of.id == job.id.0);
        let waiting = status.line.into_iter().chain(status.not_in_line);
        let waiting = waiting.into_iter().find(|it| is_it(&it.job)).and_then(|it| it.reason);
        let creating = status.partitions.into_iter().find(|it| is_it(&it.job)).and_then(|it| it.reason);
        waiting.map(|reason| reason.to_string()).or(creating)
    };
    if shown.starts_with("vipu: ") { in_document().unwrap_or(shown) } else { shown }
}

/// Waits until Slurm expects a waiting job to start at this time.
pub(crate) fn expected_at(cluster: &Cluster, job: JobId, start: u64) -> Result<()> {
    let mut last = None;
    let seen = wait_until(&format!("job {job} to be expected at {start}"), LIMIT, || {
        last = cluster.start_of(job)?;
        Ok(last == Some(start))
    });
    seen.with_context(|| format!("it was last expected at {last:?}"))
}

/// Waits until both schedulers have looked at the queue this number of times. Changes a job a little each
/// time, because the schedulers may otherwise see nothing to do.
pub(crate) fn looked_at(cluster: &Cluster, job: JobId, times: u64) -> Result<()> {
    let wanted = cluster.backfill_cycles()? + times;
    wait_until(&format!("{times} more looks at the queue"), LIMIT + Duration::from_secs(2 * times), || {
        let cycles = cluster.backfill_cycles()?;
        update(cluster, job, &[&format!("Comment=cycle-{cycles}")])?;
        Ok(cycles >= wanted)
    })
}
