//! One run of a job: its identity, and the ends of the run and of its partition.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One run of a Slurm job. A requeue makes another run of the job.
///
/// The job id alone is not an identity: a slurmctld that is killed soon after a submit may give the id to
/// another job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobRun {
    /// Slurm's job id.
    pub job: u32,
    /// The number of requeues before this run.
    pub restart: u16,
    /// The time at which this run got its nodes, in seconds since the Unix epoch. For a run without nodes see
    /// [`JobRun::waiting`].
    pub start: i64,
}

/// The final state of a run, and the exit code of its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Its script ended with exit code 0.
    Completed,
    /// Its script ended with this exit code, as a shell reports it: 128 plus the number of the signal if one killed it.
    Failed(u8),
    /// It ended in this state, as squeue names it, such as TIMEOUT.
    Otherwise(&'static str),
    /// Its user cancelled it, or it made room for another.
    Cancelled,
}

/// The cause of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndedBy {
    /// Its script ended, with this wait status.
    Script(u32),
    /// Somebody cancelled it, or it made room for another job.
    Cancel,
    /// It reached its time limit or deadline.
    TimeLimit,
    /// It was requeued, or lost a node: the job begins again if it may.
    Requeue,
}

/// The way in which a job's partition came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionEnd {
    /// The job had it.
    Removed,
    /// The job ended before it had the partition.
    Unused,
    /// It could not be made, or failed while the job ran.
    Failed,
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("exit code 0"),
            Self::Failed(code) => write!(f, "exit code {code}"),
            Self::Otherwise(state) => f.write_str(state),
            Self::Cancelled => f.write_str("CANCELLED"),
        }
    }
}

impl JobRun {
    /// A run without nodes. Its start is `now`, in seconds since the Unix epoch, as a negative number. It
    /// tells apart two jobs that got the same id.
    pub const fn waiting(job: u32, restart: u16, now: i64) -> Self {
        Self { job, restart, start: -now }
    }

    /// Whether the run got nodes.
    pub const fn has_begun(self) -> bool {
        self.start >= 0
    }

    /// Whether another job began this run after the other run.
    pub const fn is_of_later_job(self, other: &Self) -> bool {
        self.job != other.job && self.start > other.start
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
