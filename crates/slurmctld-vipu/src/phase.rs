//! How far a job's partition is, as squeue and `scontrol show job` show it of a job that has its nodes.
//!
//! While the partition is made or removed that is the reason, which Slurm leaves empty then. A running job has none:
//! what stands there goes into the lines that its tasks print when they are killed (create_kill_job_msg, 22.05).

use ledger::Claim;
use slurm_host::job::JobMut;
use vipu_types::Ipus;

/// What all that this shows as a reason begins with.
fn beginnings(claim: &Claim) -> [String; 2] {
    [format!("vipu: creating partition {}", claim.partition), removing(claim)]
}

fn removing(claim: &Claim) -> String {
    format!("vipu: removing partition {}", claim.partition)
}

/// The partition is being made: `line` says how that goes.
pub(crate) fn show_creating(job: &mut JobMut<'_>, line: &str) {
    if job.is_running() && job.is_configuring() && !job.is_completing() {
        job.set_reason(line);
    }
}

/// The partition is there, and stays in the job's comment.
pub(crate) fn show_made(job: &mut JobMut<'_>, claim: &Claim) {
    forget(job, claim);
    let line = format!("vipu: partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model);
    job.add_system_comment(&line);
}

/// The job waits for nothing but the removal. What Slurm says of its end stays.
pub(crate) fn show_removing(job: &mut JobMut<'_>, claim: &Claim) {
    if job.is_completing() && job.reason().is_none() {
        job.set_reason(&removing(claim));
    }
}

/// Takes back what was shown as the reason.
pub(crate) fn forget(job: &mut JobMut<'_>, claim: &Claim) {
    let is_ours = |reason: String| beginnings(claim).iter().any(|ours| reason.starts_with(ours));
    if job.reason().is_some_and(is_ours) {
        job.clear_reason();
    }
}
