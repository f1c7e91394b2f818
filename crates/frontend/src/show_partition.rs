//! The progress of a job's partition in squeue and `scontrol show job`, for a job that has its nodes.
//!
//! While the partition is made or removed, the progress is the job's reason, which Slurm leaves empty then. A
//! running job gets no reason: Slurm copies it into the lines that killed tasks print (create_kill_job_msg,
//! 22.05).

use crate::internal_error::OURS;
use crate::slurm::{Job, JobMut};
use ledger::Claim;
use vipu_types::Ipus;

/// The beginnings of all reasons that this module shows.
fn beginnings(claim: &Claim) -> [String; 2] {
    [format!("vipu: creating partition {}", claim.partition), removing(claim)]
}

fn removing(claim: &Claim) -> String {
    format!("vipu: removing partition {}", claim.partition)
}

/// Shows the progress `line` while the partition is made.
pub(crate) fn show_creating(job: &mut impl JobMut, line: &str) {
    if job.is_running() && job.is_configuring() && !job.is_completing() {
        job.set_reason(line);
    }
}

/// Writes a line into the job's comment, in place of the line before. The comment of a job that is sent back again and
/// again would grow otherwise, and Slurm sends it with each squeue.
pub(crate) fn comment(job: &mut impl JobMut, line: &str) {
    job.replace_in_system_comment(OURS, line);
}

/// Writes the partition into the job's comment.
pub(crate) fn show_made(job: &mut impl JobMut, claim: &Claim) {
    forget(job, claim);
    let line = format!("vipu: partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
    comment(job, &line);
}

/// Shows that the job waits for the removal only. A reason that Slurm gave its end stays.
pub(crate) fn show_removing(job: &mut impl JobMut, claim: &Claim) {
    if job.is_completing() && job.reason().is_none() {
        job.set_reason(&removing(claim));
    }
}

/// Clears a reason that this module has shown.
pub(crate) fn forget(job: &mut impl JobMut, claim: &Claim) {
    let is_ours = |reason: String| beginnings(claim).iter().any(|ours| reason.starts_with(ours));
    if job.reason().is_some_and(is_ours) {
        job.clear_reason();
    }
}
