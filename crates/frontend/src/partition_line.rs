//! The line of sacct for the partition of a job (`AccountingSteps`).
//!
//! The line begins when the job has its partition. It ends when the partition is gone, before the job's record
//! leaves COMPLETING. slurmctld may have been restarted between.

use ledger::Claim;
use vipu_types::PartitionEnd;

use crate::frontend::Frontend;
use crate::slurm::{Job, JobMut};
use crate::sync::lock;

/// Writes the line of a job that has its partition now.
pub(crate) fn begin(frontend: &Frontend, job: &mut impl JobMut, claim: &Claim) {
    if frontend.models().has_partition_lines(&claim.model) {
        job.write_partition_line(&claim.partition, claim.run.start, None);
    }
}

/// Notes that the partition could not be made, or failed.
pub(crate) fn fail(frontend: &Frontend, claim: &Claim) {
    if frontend.models().has_partition_lines(&claim.model) {
        let mut failed = lock(&frontend.accounting_notes.failed_partitions);
        // Some lines have no end: those of jobs that left COMPLETING early.
        failed.retain(|partition| frontend.ledger().holder(partition).is_some());
        failed.insert(claim.partition.clone());
    }
}

/// Ends the line. `launch_raised`: the job was never launched.
pub(crate) fn end(frontend: &Frontend, job: &mut impl JobMut, claim: &Claim, launch_raised: bool) {
    let has_failed = lock(&frontend.accounting_notes.failed_partitions).remove(&claim.partition);
    // The record of a job that is past COMPLETING may be that of another run.
    if !frontend.models().has_partition_lines(&claim.model) || !job.is_completing() {
        return;
    }
    let end = match (has_failed, launch_raised) {
        (true, _) => PartitionEnd::Failed,
        (false, true) => PartitionEnd::Unused,
        (false, false) => PartitionEnd::Removed,
    };
    job.write_partition_line(&claim.partition, claim.run.start, Some(end));
}
