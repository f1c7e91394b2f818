//! The end of a partition.

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
