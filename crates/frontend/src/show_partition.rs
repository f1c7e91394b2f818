//! How far a job's partition is, as squeue and `scontrol show job` show it of a job that has its nodes.
//!
//! While the partition is made or removed that is the reason, which Slurm leaves empty then. A running job has none:
//! what stands there goes into the lines that its tasks print when they are killed (create_kill_job_msg, 22.05).

use crate::slurm::{Job, JobMut};
use ledger::Claim;
use vipu_types::Ipus;

/// What all that this shows as a reason begins with.
fn beginnings(claim: &Claim) -> [String; 2] {
    [format!("vipu: creating partition {}", claim.partition), removing(claim)]
}

fn removing(claim: &Claim) -> String {
    format!("vipu: removing partition {}", claim.partition)
}

/// The partition is being made: `line` says how that goes.
pub(crate) fn show_creating(job: &mut impl JobMut, line: &str) {
    if job.is_running() && job.is_configuring() && !job.is_completing() {
        job.set_reason(line);
    }
}

/// Whether a part of the job's comment is what [`show_made`] has written for some run.
fn says_made(part: &str) -> bool {
    let said = part.strip_prefix("vipu: partition ").and_then(|rest| rest.split_once(": "));
    said.is_some_and(|(id, what)| !id.contains(' ') && what.contains(" IPU") && what.contains(" on "))
}

/// The partition is there, and stays in the job's comment, in the place of that of an earlier run.
pub(crate) fn show_made(job: &mut impl JobMut, claim: &Claim) {
    forget(job, claim);
    let line = format!("vipu: partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
    job.replace_in_system_comment(&line, says_made);
}

/// The job waits for nothing but the removal. What Slurm says of its end stays.
pub(crate) fn show_removing(job: &mut impl JobMut, claim: &Claim) {
    if job.is_completing() && job.reason().is_none() {
        job.set_reason(&removing(claim));
    }
}

/// Takes back what was shown as the reason.
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
