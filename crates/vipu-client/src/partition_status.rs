//! How far a partition is.

use crate::{OperationState, ReadyState, wire};

/// How far a partition is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Whether it can be used.
    pub ready: ReadyState,
    /// What is being done to it.
    pub operation: OperationState,
    /// Why it is in error, in the controller's words.
    pub errors: Vec<String>,
}

impl From<wire::PartitionStatus> for PartitionStatus {
    fn from(status: wire::PartitionStatus) -> Self {
        let (ready, operation) = (status.ready_state.into(), status.operation_state.into());
        Self { ready, operation, errors: status.errors }
    }
}
