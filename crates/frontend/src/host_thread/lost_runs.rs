//! Runs and their ends that Slurm loses if slurmctld is killed before it has saved them. The journal has
//! them.

use std::collections::HashMap;
use std::time::Duration;

use ledger::{Claim, EndedRun, Seconds};
use tracing::{info, warn};
use vipu_types::{EndedBy, JobRun, RunEnd};

use super::actions::Afterwards;
use super::end_job::{BEGIN_SOON, Outcome, end, starting};
use super::node_questions::LeftRun;
use crate::clocks_and_queues::LostRuns;
use crate::frontend::Frontend;
use crate::internal_error::guard;
use crate::mutex::lock;
use crate::show_partition;
use crate::slurm::{Job, JobMut, Locked, release_command};

/// The delay of the next run after one that was launched, as long as Slurm's own after a requeue. A node may still run
/// the site's Epilog. Up to 24.11 Slurm takes its end for one of the next run.
pub(super) const PAUSE_AFTER_LAUNCH: Duration = Duration::from_secs(120);

/// Writes the end of a run into the journal.
pub(crate) fn note(frontend: &Frontend, claim: &Claim, by: EndedBy) {
    let ended = EndedRun { run: claim.run, task: claim.task, by, at: frontend.outside().unix_time() };
    frontend.outside().note_ended(claim.clone(), ended);
}

/// The cause of the end of a job that loses its nodes. A requeued job is PENDING by then.
pub(crate) fn cause(job: impl Job) -> EndedBy {
    match job.run_end() {
        Some(RunEnd::Otherwise("TIMEOUT" | "DEADLINE")) => EndedBy::TimeLimit,
        Some(RunEnd::Otherwise("NODE_FAIL" | "BOOT_FAIL")) | None => EndedBy::Requeue,
        Some(RunEnd::Cancelled) => EndedBy::Cancel,
        Some(_) => EndedBy::Script(job.exit_status()),
    }
}

/// Takes over what the journal knows of an earlier slurmctld.
pub(super) fn take_over(
    frontend: &Frontend,
    slurm: &mut impl Locked,
    lost: LostRuns,
    afterwards: &mut Afterwards,
) {
    let LostRuns { ids, left, ended } = lost;
    slurm.pass_over_ids(&ids);
    let known = left.iter().map(|(claim, _)| (claim.run, claim.task));
    let mut known: Vec<_> = known.chain(ended.iter().map(|ended| (ended.run, ended.task))).collect();
    // The task that is split off last keeps the id of the array, which its run had.
    known.sort_by_key(|(run, task)| task.is_some_and(|(array, _)| array == run.job));
    let mut jobs = HashMap::new();
    for (run, task) in known {
        let job = guard(&|| format!("job in line after {run}"), None, || find_in_line(slurm, run, task));
        jobs.insert(run, job);
    }
    let job_after = |run: &JobRun| jobs.get(run).copied().flatten();
    for ended in ended {
        let again = || end_again(slurm, ended, job_after(&ended.run));
        afterwards.begins.extend(guard(&|| format!("end of job {}", ended.run.job), None, again));
    }
    let left = left.into_iter().map(|(claim, was_launched)| {
        // A run without a job in line may be one of srun, whose job waits under its id. That of a task may have had the
        // id of the array, and another task may have it now.
        let waiting = job_after(&claim.run).or(claim.task.is_none().then_some(claim.run.job));
        if let Some(job) = waiting {
            lock(&frontend.before.left_runs).insert(job, claim.nodes.clone());
        }
        LeftRun { claim, waiting, was_launched }
    });
    afterwards.left = Some(left.collect());
}

/// The job in line, held or not, of which this was a run. A task of a job array is split off the array if Slurm has
/// forgotten that it was, so that it can be counted or held alone. A later job with the same id is another one.
fn find_in_line(slurm: &mut impl Locked, run: JobRun, task: Option<(u32, u32)>) -> Option<u32> {
    let job = match task {
        Some((array, task)) => slurm.task(array, task),
        None => slurm.job(run.job),
    };
    let mut job = job.filter(|job| waits_after(job, run))?;
    if let Some((array, task)) = task.filter(|_| job.is_unsplit_array()) {
        job.split_off(task);
        info!("{run}: it was task {array}_{task}, and Slurm lost that; the task is job {} now", job.id());
    }
    (!job.is_unsplit_array()).then(|| job.id())
}

/// Ends a run as it has ended before, because Slurm's saved state is older than its end. Returns the time at which the
/// job in line, if there is one, may begin again.
fn end_again(
    slurm: &mut impl Locked,
    EndedRun { run, by, .. }: EndedRun,
    in_line: Option<u32>,
) -> Option<Seconds> {
    let lost = format_args!("{run}: it has ended, and Slurm lost that");
    if starting(slurm, run).is_some() {
        match by {
            EndedBy::Script(status) => {
                let (exit_code, signal) = (status >> 8, status & 0x7f);
                warn!("{lost}; it ends again, with exit code {exit_code}:{signal}");
                slurm.end_with(run.job, Some(status));
            }
            EndedBy::Cancel => {
                warn!("{lost}; it is cancelled again");
                slurm.end_with(run.job, None);
            }
            EndedBy::TimeLimit => {} // Slurm itself ends it again.
            EndedBy::Requeue => {
                let outcome = end(slurm, run.job, Outcome::Requeued);
                warn!("{lost}; it is {outcome} again");
            }
        }
        return None;
    }
    let run = JobRun { job: in_line?, ..run };
    // Only its user knows whether a job that was not requeued may run again.
    let held = (by != EndedBy::Requeue).then_some("it has run and ended, and Slurm lost that");
    begin_as_restart(slurm, run, held, true)
}

/// Lets a job in line begin as a restart, because this run of it has begun, and maybe reached its nodes. The job is held
/// if there is a reason for that, or if it was launched and must not be requeued. Returns the time at which it may begin
/// otherwise.
pub(super) fn begin_as_restart(
    slurm: &mut impl Locked,
    run: JobRun,
    held: Option<&str>,
    was_launched: bool,
) -> Option<Seconds> {
    let waiting = slurm.job(run.job).filter(|job| waits_after(job, run));
    // Slurm may have saved an earlier count.
    let mut job = waiting.filter(|job| job.restart_count() <= run.restart)?;
    let unwilling = || {
        (was_launched && !job.may_be_requeued()).then_some("it has begun before, and must not be requeued")
    };
    let held = held.or_else(unwilling);
    (job.restart_count()..=run.restart).for_each(|_| job.count_restart());
    let count = job.restart_count();
    if let Some(why) = held {
        warn!("{run}: {why}; it is held, and its next run is restart {count}");
        job.hold();
        job.set_reason(show_partition::HELD_HAS_RUN);
        let line = format!("vipu: {why}, to run it again: {}", release_command(*job));
        show_partition::comment(&mut job, &line);
        return None;
    }
    info!("{run}: the next run of the job is restart {count}");
    job.begin_soon(if was_launched { PAUSE_AFTER_LAUNCH } else { BEGIN_SOON });
    Some(Seconds(job.begin_time()))
}

/// Whether a batch job waits that existed when this run began.
fn waits_after<J: JobMut>(job: &J, run: JobRun) -> bool {
    job.is_pending() && job.is_batch() && job.submit_time() <= run.start
}
