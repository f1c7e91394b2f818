//! The status of a partition.

use crate::{OperationState, ReadyState, wire};

/// The status of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Whether the partition can be used.
    pub ready: ReadyState,
    /// The operation that is under way on the partition.
    pub operation: OperationState,
    /// The reasons of an error, in the controller's words.
    pub errors: Vec<String>,
}

impl From<wire::PartitionStatus> for PartitionStatus {
    fn from(status: wire::PartitionStatus) -> Self {
        let (ready, operation) = (status.ready_state.into(), status.operation_state.into());
        Self { ready, operation, errors: status.errors }
    }
}
