//! Ends of batch runs that Slurm loses if slurmctld is killed before it has saved them. The journal has them.

use ledger::{Claim, EndedRun, Seconds};
use tracing::{info, warn};
use vipu_types::{EndedBy, JobRun};

use super::end_job::{BEGIN_SOON, Outcome, end, starting};
use crate::frontend::Frontend;
use crate::slurm::{Job, JobMut, Locked, release_command};

/// Writes the end of a run into the journal.
pub(crate) fn note(frontend: &Frontend, claim: &Claim, by: EndedBy) {
    let ended = EndedRun { run: claim.run, task: claim.task, by, at: frontend.outside().unix_time() };
    frontend.outside().note_ended(claim.clone(), ended);
}

/// The cause of the end of a job that loses its nodes. A requeued job is PENDING by then.
pub(crate) fn cause(job: impl Job) -> EndedBy {
    match job.failure() {
        Some("TIMEOUT" | "DEADLINE") => EndedBy::TimeLimit,
        Some("NODE_FAIL" | "BOOT_FAIL") => EndedBy::Requeue,
        Some(_) => EndedBy::Script(job.exit_status()),
        None if job.has_completed() => EndedBy::Script(job.exit_status()),
        None if job.has_ended() => EndedBy::Cancel,
        None => EndedBy::Requeue,
    }
}

/// The job in line, held or not, of which this was the last run, as far as Slurm knows. A task of a job array is split off
/// the array if Slurm has forgotten that it was, so that it can be counted or held alone. A later job with the same id is
/// another one.
pub(super) fn in_line(slurm: &mut impl Locked, run: JobRun, task: Option<(u32, u32)>) -> Option<u32> {
    let job = match task {
        Some((array, task)) => slurm.task(array, task),
        None => slurm.job(run.job),
    };
    let mut job = job.filter(|job| waits_after(job, run))?;
    match task {
        Some((array, task)) if job.is_unsplit_array() => {
            job.split_off(task);
            info!("{run}: it was task {array}_{task}, and Slurm lost that; the task is job {} now", job.id());
        }
        _ => {}
    }
    (!job.is_unsplit_array()).then(|| job.id())
}

/// Ends a run as it has ended before, because Slurm's saved state is older than its end. Returns the time at which the
/// job may begin again, if it is in line.
pub(super) fn end_again(
    slurm: &mut impl Locked,
    EndedRun { run, task, by, .. }: EndedRun,
) -> Option<Seconds> {
    let lost = format_args!("{run}: it has ended, and Slurm lost that");
    if starting(slurm, run).is_some() {
        match by {
            EndedBy::Script(status) => {
                warn!("{lost}; it ends again, with wait status {status:#x}");
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
    let run = JobRun { job: in_line(slurm, run, task)?, ..run };
    // Only its user knows whether a job that was not requeued may run again.
    let held = (by != EndedBy::Requeue).then_some("it has run and ended, and Slurm lost that");
    count(slurm, run, &[], held)
}

/// Lets a job in line begin as a restart, because this run of it has begun on these nodes. The job is held if there is a
/// reason for that, or if it must not be requeued. Returns the time at which it may begin otherwise.
pub(super) fn count(
    slurm: &mut impl Locked,
    run: JobRun,
    nodes: &[String],
    held: Option<&str>,
) -> Option<Seconds> {
    let mut job = slurm.job(run.job).filter(|job| waits_after(job, run))?;
    let unwilling = || (!job.may_be_requeued()).then_some("it has begun before, and must not be requeued");
    let held = held.or_else(unwilling);
    job.count_restart();
    let count = job.restart_count();
    let begin = if let Some(why) = held {
        warn!("{run}: {why}; it is held, and its next run is restart {count}");
        job.hold();
        job.set_reason(&format!("vipu: {why}; to run it again: {}", release_command(*job)));
        None
    } else {
        info!("{run}: the next run of the job is restart {count}");
        // A node refuses the job in the second in which the earlier run was ended there.
        job.begin_soon(BEGIN_SOON);
        Some(Seconds(job.begin_time()))
    };
    drop(job);
    slurm.end_on_nodes(run.job, nodes);
    begin
}

/// Whether a batch job waits, and this was its last run.
fn waits_after<J: JobMut>(job: &J, run: JobRun) -> bool {
    job.is_pending() && job.is_batch() && job.restart_count() == run.restart && job.submit_time() <= run.start
}
