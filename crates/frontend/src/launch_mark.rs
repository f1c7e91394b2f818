//! The launch gate, and its mark for a later slurmctld.
//!
//! Slurm saves CONFIGURING, but a job that is or was suspended has lost it. Slurm lowers the gate itself when
//! it reads its jobs. Slurm saves the job's environment with its state, so a variable there marks a job that
//! was not launched yet.

use crate::slurm::{Job, JobMut};
use vipu_types::Grant;

/// The name of the mark, beside the variable of the grant. salloc and srun get the mark with their nodes too,
/// where it means nothing.
fn mark(job: u32) -> String {
    format!("{}_HELD", Grant::variable(job))
}

/// Raises the job's launch gate, here and in a later slurmctld.
pub(crate) fn raise(job: &mut impl JobMut) {
    job.set_environment(&mark(job.id()), "1");
    job.raise_launch_gate();
}

/// Removes the mark: the job is about to be launched, or will not be launched any more.
pub(crate) fn forget(job: &mut impl JobMut) {
    job.remove_environment(&mark(job.id()));
}

/// Whether an earlier slurmctld had not launched the job yet.
pub(crate) fn was_raised(job: impl Job) -> bool {
    job.is_configuring() || job.environment(&mark(job.id())).is_some()
}
