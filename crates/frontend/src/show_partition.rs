//! The progress of a job's partition in squeue and `scontrol show job`, for a job that has its nodes.
//!
//! While the partition is made or removed, the progress is the job's reason, which Slurm leaves empty then. A
//! running job gets no reason: Slurm copies it into the lines that killed tasks print (create_kill_job_msg,
//! 22.05).

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

/// Whether this part of the job's comment was written by [`show_made`], for any run.
fn says_made(part: &str) -> bool {
    let said = part.strip_prefix("vipu: partition ").and_then(|rest| rest.split_once(": "));
    said.is_some_and(|(id, what)| !id.contains(' ') && what.contains(" IPU") && what.contains(" on "))
}

/// Writes the partition into the job's comment, in place of the partition of an earlier run.
pub(crate) fn show_made(job: &mut impl JobMut, claim: &Claim) {
    forget(job, claim);
    let line = format!("vipu: partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
    job.replace_in_system_comment(&line, says_made);
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

#[cfg(test)]
mod tests {
    use super::says_made;

    #[test]
    fn job_comment_of_a_made_partition_is_told_from_others() {
        for line in
            ["vipu: partition slurm_42: 16 IPUs on pod64", "vipu: partition slurm_42r7: 1 IPU on pod16"]
        {
            assert!(says_made(line), "{line}");
        }
        for line in [
            "vipu: partition slurm_42 failed: 2 IPUs on pod64 lost",
            "vipu: partition slurm_42 was moved to other IPUs",
            "vipu: partition slurm_42 is kept until 2026-11-22T10:00:00 (--ipu-keep)",
            "16 IPUs on pod64",
        ] {
            assert!(!says_made(line), "{line}");
        }
    }
}
