//! Texts for a fault in slurm-vipu, and the beginning of all its reasons.

/// The beginning of each reason of slurm-vipu.
pub(crate) const OURS: &str = "vipu: ";

/// The text for users. They can do nothing about the fault; the log tells administrators more.
pub(crate) const INTERNAL: &str = "internal error, see slurmctld's log";

/// The reason of a job that waits or is refused because of the fault. Other texts of slurm-vipu begin with
/// it.
pub fn to_user() -> String {
    format!("vipu: {INTERNAL}")
}

/// The text for a fault that only a restart of slurmctld ends.
pub(crate) fn until_restart() -> String {
    format!("{INTERNAL}; restart slurmctld")
}
