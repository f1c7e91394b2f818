//! The partitions of a pool, as administrators see them.

use vipu_types::PartitionId;

use crate::PoolBlock;

/// A partition of a pool, with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolMember {
    /// Its id.
    pub partition: PartitionId,
    /// Its IPUs.
    pub block: PoolBlock,
    /// Its state.
    pub state: PoolMemberState,
}

/// The state of a partition of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolMemberState {
    /// It waits for a job.
    Free,
    /// A job has it, or is about to get it.
    Used,
    /// It is being given back after a job, or being reset.
    Returning,
    /// No job gets it, for this reason.
    OutOfUse(String),
}
