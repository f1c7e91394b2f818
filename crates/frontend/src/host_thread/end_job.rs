//! The ways in which the front end ends jobs, and the messages to their users.

use std::time::Duration;

use ledger::{Claim, Event};
use tracing::info;
use vipu_types::JobRun;

use crate::frontend::Frontend;
use crate::show_partition;
use crate::slurm::{Job, JobMut, Locked, leader_of, release_command};

/// The shortest delay until a job begins again. A node refuses a job in the second in which it heard of the end
/// of the earlier run.
pub(super) const BEGIN_SOON: Duration = Duration::from_secs(2);

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
        show_partition::comment(&mut job, text);
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

/// Ends a run whose partition could not be made. A batch job goes back into the queue, as its `fate` says.
pub(super) fn fail_run(
    frontend: &Frontend,
    slurm: &mut impl Locked,
    claim: Claim,
    reason: &str,
    fate: Outcome,
) {
    let text = format!("vipu: {reason}");
    if starting(slurm, claim.run).is_none() {
        frontend.tell(Event::RunVanished(claim.partition));
        return;
    }
    let id = claim.run.job;
    slurm.tell_user(id, &text);
    let outcome = end(slurm, id, fate);
    let mut hint = String::new();
    if let Some(mut job) = slurm.job(id) {
        let is_held = job.is_pending() && job.priority() == 0;
        job.set_reason(if is_held { show_partition::HELD_NOT_MADE } else { show_partition::NOT_MADE });
        if is_held {
            hint = format!(", then: {}", release_command(*job));
        }
        show_partition::comment(&mut job, &format!("{text}{hint}"));
    }
    info!("{}: {outcome} ({text}{hint})", claim.run);
}
