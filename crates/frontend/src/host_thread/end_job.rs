//! The ways in which the front end ends jobs, and the messages to their users.

use ledger::{Claim, EndedRun, Event};
use tracing::{info, warn};
use vipu_types::JobRun;

use crate::frontend::Frontend;
use crate::slurm::{Job, JobMut, Locked, leader_of};

/// The job, if it is still in this run. It need not be CONFIGURING: a job that is or was suspended has lost
/// that state, and still waits for its launch.
pub(super) fn starting<L: Locked>(slurm: &mut L, run: JobRun) -> Option<L::Job<'_>> {
    slurm.job(run.job).filter(|job| {
        let same_run = job.restart_count() == run.restart && job.start_time() == run.start;
        same_run && (job.is_running() || job.is_suspended())
    })
}

/// Writes a line to the job's terminal and into its comment.
pub(super) fn tell(slurm: &mut impl Locked, job: u32, text: &str) {
    slurm.tell_user(job, text);
    if let Some(mut job) = slurm.job(job) {
        job.add_system_comment(text);
    }
}

/// The outcome of a run that is ended. For a run without a batch script it is always [`Outcome::Failed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The job is over.
    Failed,
    /// The job goes back into the queue, if it may be requeued.
    Requeued,
    /// The job goes back into the queue, because it was never launched.
    SentBack,
    /// As [`Outcome::SentBack`], but held.
    Held,
}

/// Ends a job, or the heterogeneous job that it is part of. Returns the outcome in words.
pub(super) fn end(slurm: &mut impl Locked, job: u32, fate: Outcome) -> &'static str {
    let Some(seen) = slurm.job(job) else { return "gone" };
    let whole = leader_of(*seen);
    let fate = if seen.is_batch() { fate } else { Outcome::Failed };
    drop(seen);
    match fate {
        Outcome::Requeued if slurm.requeue(whole, false) => "requeued",
        Outcome::SentBack if slurm.send_back(whole, false) => "requeued",
        Outcome::Held if slurm.send_back(whole, true) => "requeued and held",
        _ => {
            slurm.end_failed(whole);
            "ended"
        }
    }
}

/// Ends a run whose partition could not be made. A batch job goes back into the queue, held if `hold`.
pub(super) fn fail_run(frontend: &Frontend, slurm: &mut impl Locked, claim: Claim, reason: &str, hold: bool) {
    let text = format!("vipu: {reason}");
    if starting(slurm, claim.run).is_none() {
        frontend.tell(Event::RunVanished(claim.partition));
        return;
    }
    let id = claim.run.job;
    tell(slurm, id, &text);
    let outcome = end(slurm, id, if hold { Outcome::Held } else { Outcome::SentBack });
    if let Some(mut job) = slurm.job(id) {
        let leader = leader_of(*job);
        let is_held = job.is_pending() && job.priority() == 0;
        let hint = if is_held { format!("; then: scontrol release {leader}") } else { String::new() };
        job.set_reason(&format!("{text}{hint}"));
    }
    info!("{}: {outcome} ({text})", claim.run);
}

/// Ends a job as it has ended before: Slurm's saved state is older than its end. A job that is in line for the run that
/// has ended is held, because only its user knows whether it may run again.
pub(super) fn end_again(slurm: &mut impl Locked, EndedRun { run, status, .. }: EndedRun) {
    if starting(slurm, run).is_some() {
        warn!("{run}: it has ended, and Slurm lost that; it ends again, with wait status {status:#x}");
        return slurm.end_with(run.job, status);
    }
    let is_next = |job: &_| is_in_line(job, run);
    if let Some(mut job) = slurm.job(run.job).filter(is_next) {
        warn!("{run}: it has ended, and Slurm lost that; it is held");
        job.hold();
        job.set_reason(&format!(
            "vipu: it has run and ended, and Slurm lost that; to run it again: scontrol release {}",
            run.job
        ));
    }
}

/// Whether a batch job waits for this run, as far as Slurm knows.
pub(super) fn is_in_line<J: JobMut>(job: &J, run: JobRun) -> bool {
    job.is_pending() && job.is_batch() && !job.is_unsplit_array() && job.restart_count() == run.restart
}
