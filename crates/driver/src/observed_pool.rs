//! The observations of the pool on a controller.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use vipu_types::PartitionId;

/// The knowledge about the pool of a controller that outlives a change of configuration.
#[derive(Default)]
pub(crate) struct ObservedPool {
    /// A task makes partitions.
    pub is_being_made: Cell<bool>,
    /// The partitions that no job can get, each with the reason that the log has.
    pub unusable: RefCell<BTreeMap<PartitionId, String>>,
    /// The last reason why a partition could not be made.
    pub unmade: RefCell<String>,
}
