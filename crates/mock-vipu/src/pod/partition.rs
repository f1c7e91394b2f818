//! One partition: where it is and how far.

use serde::{Deserialize, Serialize};
use vipu_client::wire::{PartitionOperationState, PartitionReadyState};

use super::placement::Block;
use super::spec::Spec;
use crate::nanos::Nanos;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Partition {
    pub(crate) spec: Spec,
    pub(crate) allocation: String,
    pub(crate) block: Block,
    pub(crate) state: State,
    pub(crate) errors: Vec<String>,
    pub(crate) resets: u32,
    /// What happens next by itself, and when.
    pub(crate) next: Option<(Nanos, Step)>,
    /// Its place in the history.
    pub(crate) record: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Being made, or reset, is over.
    ComeUp,
    /// Being made, or removed, ends with this error.
    Fail(String),
    /// The effect of a removal begins.
    Remove { force: bool },
    /// Being removed is over.
    Leave { forced: bool },
    /// Being shown as removed is over.
    Vanish,
}

/// The states that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Creating,
    Active,
    Resetting,
    Failed,
    /// With the ready state as it was.
    Removing(Ready),
    /// With its name and IPUs still in use.
    Removed,
}

/// The ready state of a partition that is being removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ready {
    Pending,
    Active,
    Error,
}

impl State {
    /// Whether it is being removed, or shown as removed.
    pub(crate) fn is_leaving(self) -> bool {
        matches!(self, Self::Removing(_) | Self::Removed)
    }

    pub(crate) fn removing(self) -> Self {
        Self::Removing(match self {
            Self::Creating | Self::Resetting => Ready::Pending,
            Self::Active => Ready::Active,
            Self::Failed => Ready::Error,
            Self::Removing(ready) => ready,
            Self::Removed => return self,
        })
    }

    /// As the API tells it.
    pub(crate) fn told(self) -> (PartitionReadyState, PartitionOperationState) {
        use PartitionOperationState as Operation;
        use PartitionReadyState as Told;
        match self {
            Self::Creating => (Told::PsPending, Operation::PosCreating),
            Self::Active => (Told::PsActive, Operation::PosIdle),
            Self::Resetting => (Told::PsPending, Operation::PosResetting),
            Self::Failed => (Told::PsError, Operation::PosFailed),
            Self::Removed => (Told::PsRemoved, Operation::PosRemoving),
            Self::Removing(Ready::Pending) => (Told::PsPending, Operation::PosRemoving),
            Self::Removing(Ready::Active) => (Told::PsActive, Operation::PosRemoving),
            Self::Removing(Ready::Error) => (Told::PsError, Operation::PosRemoving),
        }
    }
}
