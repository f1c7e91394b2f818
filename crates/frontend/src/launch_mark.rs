//! The launch gate, and what a later slurmctld knows of it.
//!
//! Slurm saves CONFIGURING, but a job that is or was suspended has it no more, and the gate itself is lowered when jobs
//! are read. So the job's environment, which is saved with its state, says that the job was not launched yet.

use crate::slurm::{Job, JobMut};
use vipu_types::Grant;

/// The variable beside that of the grant. What slurmctld sends to salloc and srun as they get their nodes has it, too,
/// where it means nothing.
fn mark(job: u32) -> String {
    format!("{}_HELD", Grant::variable(job))
}

/// Holds the job's launch, here and in a later slurmctld.
pub(crate) fn raise(job: &mut impl JobMut) {
    job.set_environment(&mark(job.id()), "1");
    job.raise_launch_gate();
}

/// The job is about to be launched, or is not to be any more.
pub(crate) fn forget(job: &mut impl JobMut) {
    job.remove_environment(&mark(job.id()));
}

/// Whether an earlier slurmctld had not launched it yet.
pub(crate) fn was_raised(job: impl Job) -> bool {
    job.is_configuring() || job.environment(&mark(job.id())).is_some()
}
