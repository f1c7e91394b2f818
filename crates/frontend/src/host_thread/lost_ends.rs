//! Ends of batch runs that Slurm loses if slurmctld is killed before it has saved them. The journal has them.

use ledger::{Claim, EndedRun, Seconds};
use tracing::{info, warn};
use vipu_types::{EndedBy, JobRun};

use super::end_job::{BEGIN_SOON, Outcome, end, starting};
use crate::frontend::Frontend;
use crate::slurm::{Job, JobMut, Locked};

/// Writes the end of a run into the journal.
pub(crate) fn note(frontend: &Frontend, claim: &Claim, by: EndedBy) {
    let ended = EndedRun { run: claim.run, by, at: frontend.outside().unix_time() };
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

/// Ends a run as it has ended before, because Slurm's saved state is older than its end. Returns the time at which the
/// job may begin again, if it is in line.
pub(super) fn end_again(slurm: &mut impl Locked, EndedRun { run, by, .. }: EndedRun) -> Option<Seconds> {
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
    if by == EndedBy::Requeue {
        return count(slurm, run, &[]);
    }
    let is_next = |job: &_| is_in_line(job, run);
    let mut job = slurm.job(run.job).filter(is_next)?;
    // Only its user knows whether it may run again.
    warn!("{lost}; it is held");
    hold(&mut job, "it has run and ended, and Slurm lost that");
    None
}

/// Lets a job in line, held or not, begin as a restart, because this run of it has begun on these nodes. A job that must
/// not be requeued is held. Returns the time at which the job may begin.
pub(super) fn count(slurm: &mut impl Locked, run: JobRun, nodes: &[String]) -> Option<Seconds> {
    let is_next = |job: &_| is_in_line(job, run);
    let mut job = slurm.job(run.job).filter(is_next)?;
    let begin = if job.may_be_requeued() {
        job.count_restart();
        // A node refuses the job in the second in which the earlier run was ended there.
        job.begin_soon(BEGIN_SOON);
        info!("{run}: the next run of the job is restart {}", job.restart_count());
        Some(Seconds(job.begin_time()))
    } else {
        hold(&mut job, "it has begun before, and must not be requeued");
        warn!("{run}: it must not be requeued, so it is held");
        None
    };
    drop(job);
    slurm.end_on_nodes(run.job, nodes);
    begin
}

fn hold(job: &mut impl JobMut, why: &str) {
    job.hold();
    let id = job.id();
    job.set_reason(&format!("vipu: {why}; to run it again: scontrol release {id}"));
}

/// Whether a batch job waits for this run, as far as Slurm knows. A later job with the same id does not.
fn is_in_line<J: JobMut>(job: &J, run: JobRun) -> bool {
    let waits = job.is_pending() && job.is_batch() && !job.is_unsplit_array();
    waits && job.restart_count() == run.restart && job.submit_time() <= run.start
}
