//! What is shown of a fault in this program.

/// To whom it may concern: users cannot do anything about it, the log says more to who can.
pub(crate) const INTERNAL: &str = "internal error, see slurmctld's log";

/// The same where a job waits, or is refused: other words of ours begin so, too.
pub(crate) fn to_user() -> String {
    format!("vipu: {INTERNAL}")
}

/// The same where nothing but a new slurmctld helps.
pub(crate) fn until_restart() -> String {
    format!("{INTERNAL}; restart slurmctld")
}
