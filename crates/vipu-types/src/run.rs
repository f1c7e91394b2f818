//! The identity of one run of a job.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One run of a Slurm job: requeued, the same job is another run.
///
/// The job id alone is not an identity, because a slurmctld killed soon after a
/// submit may hand out the same id again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobRun {
    /// Slurm's job id.
    pub job: u32,
    /// How often the job was requeued before this run.
    pub restart: u16,
    /// When this run was given its nodes, in seconds since the Unix epoch. Of one that waits for them: when
    /// that was said, counted backwards, see [`JobRun::waiting`].
    pub start: i64,
}

impl JobRun {
    /// A run that has no nodes yet. An id that is handed out twice makes no two runs the same, as `now`
    /// differs, in seconds since the Unix epoch.
    #[must_use]
    pub const fn waiting(job: u32, restart: u16, now: i64) -> Self {
        Self { job, restart, start: -now }
    }

    /// Whether it was given nodes.
    #[must_use]
    pub const fn has_begun(self) -> bool {
        self.start >= 0
    }
}

impl fmt::Display for JobRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.restart {
            0 => write!(f, "job {}", self.job),
            k => write!(f, "job {} (requeue {k})", self.job),
        }
    }
}
