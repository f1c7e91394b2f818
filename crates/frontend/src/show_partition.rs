//! The progress of a job's partition in squeue and `scontrol show job`, for a job that has its nodes.
//!
//! While the partition is made or removed, the progress is the job's reason, which Slurm leaves empty then. A
//! running job gets no reason: Slurm copies it into the lines that killed tasks print (create_kill_job_msg,
//! 22.05).

use crate::internal_error::OURS;
use crate::slurm::{Job, JobMut};
use ledger::Claim;
use vipu_types::{Ipus, Reason};

/// The beginnings of all reasons of jobs that have nodes.
const BEGINNINGS: [&str; 3] = ["vipu: creating a partition", NOT_TOLD, REMOVING];

/// The reason of a job of which an earlier run may be left on a node.
pub(crate) const NOT_TOLD: &str = "vipu: a node has not told yet whether it still runs this job";

/// The reasons of jobs after a run. Their comments tell more.
pub(crate) const NOT_MADE: &str = "vipu: no partition was made";
pub(crate) const HELD_NOT_MADE: &str = "vipu: held - no partition was made";
pub(crate) const HELD_HAS_RUN: &str = "vipu: held - it may have run";

const REMOVING: &str = "vipu: removing the partition";

/// Shows the progress while the partition is made. Returns whether the job still waits for it.
pub(crate) fn show_creating(job: &mut impl JobMut, progress: &Reason) -> bool {
    let waits = job.is_running() && job.is_configuring() && !job.is_completing();
    if waits && job.reason().is_none_or(|shown| shown != progress.brief) {
        job.set_reason(&progress.brief);
    }
    waits
}

/// Writes a line into the job's comment, in place of the line before. The comment of a job that is sent back again and
/// again would grow otherwise, and Slurm sends it with each squeue.
pub(crate) fn comment(job: &mut impl JobMut, line: &str) {
    job.replace_in_system_comment(OURS, line);
}

/// Writes the partition into the job's comment.
pub(crate) fn show_made(job: &mut impl JobMut, claim: &Claim) {
    forget(job);
    let line = format!("vipu: partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
    comment(job, &line);
}

/// Shows that the job waits for the removal only. A reason that Slurm gave its end stays.
pub(crate) fn show_removing(job: &mut impl JobMut) {
    if job.is_completing() && job.reason().is_none() {
        job.set_reason(REMOVING);
    }
}

/// Clears a reason that this module has shown.
pub(crate) fn forget(job: &mut impl JobMut) {
    let is_ours = |reason: String| BEGINNINGS.iter().any(|ours| reason.starts_with(ours));
    if job.reason().is_some_and(is_ours) {
        job.clear_reason();
    }
}
