//! What is shown of a fault in this program, and what all reasons of ours begin with.

/// What each of our reasons begins with.
pub(crate) const OURS: &str = "vipu: ";

/// Users cannot do anything about it; the log says more to administrators.
pub(crate) const INTERNAL: &str = "internal error, see slurmctld's log";

/// The words for a job that waits or is refused: other words of ours begin so, too.
pub fn to_user() -> String {
    format!("vipu: {INTERNAL}")
}

/// The words where nothing but a new slurmctld helps.
pub(crate) fn until_restart() -> String {
    format!("{INTERNAL}; restart slurmctld")
}
