//! One partition: its place and its state.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use vipu_client::wire::{PartitionOperationState, PartitionReadyState};

use super::placement::Block;
use super::spec::Spec;
use super::{Nanos, PartitionRecord, StateChange};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Partition {
    pub(crate) spec: Spec,
    pub(crate) allocation: String,
    pub(crate) block: Block,
    pub(crate) state: State,
    pub(crate) errors: Vec<String>,
    pub(crate) resets: u32,
    /// The partition's next step without a call, and its time.
    pub(crate) next: Option<(Nanos, Step)>,
    /// The index of the partition's record in the history.
    pub(crate) record: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// A create or reset is over.
    ComeUp,
    /// A create or removal ends with this error.
    Fail(String),
    /// The effect of a removal begins.
    Remove { force: bool },
    /// A removal is over.
    Leave { forced: bool },
    /// A removed partition is no longer shown.
    Vanish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    Creating,
    Active,
    Resetting,
    Failed,
    /// Being removed. The ready state is the one from before.
    Removing(Ready),
    /// Removed, with its name and IPUs still in use.
    Removed,
}

/// The ready state of a partition that is being removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ready {
    Pending,
    Active,
    Error,
}

impl Partition {
    /// Changes the state and records it.
    pub(crate) fn enter(&mut self, state: State, at: Nanos, records: &mut [PartitionRecord]) {
        self.state = state;
        let (ready, operation) = state.told();
        let (ready, operation) = (ready.as_str_name().to_owned(), operation.as_str_name().to_owned());
        records[self.record].events.push(StateChange { at, ready, operation });
    }

    /// Replaces the partition's step on the agenda.
    pub(crate) fn plan(&mut self, next: Option<(Nanos, Step)>, agenda: &mut BTreeSet<(Nanos, String)>) {
        if let Some((at, _)) = self.next.take() {
            agenda.remove(&(at, self.spec.id.clone()));
        }
        if let Some((at, _)) = &next {
            agenda.insert((*at, self.spec.id.clone()));
        }
        self.next = next;
    }
}

impl State {
    /// Returns whether the partition is being removed, or is shown as removed.
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

    /// Returns the API's words for the state.
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
