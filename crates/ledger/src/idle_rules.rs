//! The rules for partitions that stay after their jobs.

use std::time::Duration;

/// The rules of a model for idle partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleRules {
    /// The longest time for which a partition stays idle (KeepIdle). Zero: none stays.
    pub keep: Duration,
    /// The most IPUs of one controller in idle partitions (KeepIdleMax). None: all.
    pub most: Option<u32>,
    /// The jobs for which a partition stays (KeepIdleFor).
    pub keep_for: KeepIdleFor,
    /// Whether a partition is reset before it is given to the same user again (ReuseReset).
    pub reset: ReuseReset,
    /// A number that changes with the settings by which partitions are made. Partitions that were made by other
    /// settings do not stay.
    pub settings: u64,
}

/// The jobs for which a partition stays. In both cases none stays while the first job in line wants another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepIdleFor {
    /// Those that wait: the first job in line wants this size.
    #[default]
    WaitingJobs,
    /// Also those that are not submitted yet. Meanwhile a job of another size may have to wait for the removal.
    AnyJob,
}

/// The jobs before which a partition is reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReuseReset {
    /// All. The reset is made when a job ends, or, for [`KeepIdleFor::WaitingJobs`], when the next one begins.
    #[default]
    Always,
    /// Those of another user than the last one. The reset is made when the next job begins.
    OtherUsers,
}
