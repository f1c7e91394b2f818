//! What configuration says of a model and its controllers, as far as the driver has to know.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vipu_types::{IpuCount, PodId};

/// What configuration says of a model, as far as the driver has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// How long a create may take in all, retries included (CreateTimeout).
    pub create_timeout: Duration,
    /// How often a create that fails is tried again (MaxRetries).
    pub max_retries: u32,
    /// Between two surveys that nobody asked for (ReconcileInterval): what changes behind our back is seen
    /// this late.
    pub reconcile_interval: Duration,
    /// Whether partitions are removed that are named as ours are, though the journal does not know them
    /// (RemoveUnknown).
    pub remove_unknown: bool,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// Whether partitions are removed by force (ForceDeletePartition).
    pub force_remove: bool,
    /// Whether partitions are made reconfigurable (UseReconfigPartition).
    pub reconfigurable: bool,
    /// The allocation to take IPUs from (Allocation).
    pub allocation: Option<String>,
    /// The V-IPU cluster that IPUs are chosen from (Cluster).
    pub cluster: Option<String>,
    /// The agents of the allocation (AllocationAgents); empty when they are not known.
    pub allocation_agents: Vec<String>,
    /// How many creates may be under way at once on one controller, at least one (MaxConcurrentCreates).
    pub max_concurrent_creates: usize,
    /// Where IPUoF files go (IpuofDir); `None` when tasks do without (Delivery).
    pub ipuof_dir: Option<Arc<Path>>,
}

/// One controller of a model, with the model's settings.
#[derive(Clone, Debug)]
pub struct PodSetup<C> {
    /// The model, and what the controller is called.
    pub pod: PodId,
    /// The model's settings.
    pub settings: ModelSettings,
    /// The way to the controller.
    pub controller: C,
}
