//! The observations of the pool on a controller.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tokio_util::task::AbortOnDropHandle;
use vipu_types::PartitionId;

/// The knowledge about the pool of a controller that outlives a change of configuration.
#[derive(Default)]
pub(crate) struct ObservedPool {
    /// The task that makes partitions.
    pub maker: RefCell<Option<AbortOnDropHandle<()>>>,
    /// The partitions that no job can get, each with the reason that the log has.
    pub unusable: RefCell<BTreeMap<PartitionId, String>>,
    /// The partitions that could not be made, each with the reason that the log has.
    pub unmade: RefCell<BTreeMap<PartitionId, String>>,
}
