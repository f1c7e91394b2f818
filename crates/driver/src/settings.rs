//! The configuration of a model and its controllers, as far as the driver needs it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vipu_types::{HostMap, IpuCount, ModelPool, PartitionId, PodId};

/// The configuration of a model, as far as the driver needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// The longest duration of a create, with all its tries (CreateTimeout).
    pub create_timeout: Duration,
    /// The number of times that a failed create is tried again (MaxRetries).
    pub max_retries: u32,
    /// The time between two surveys that were not asked for (ReconcileInterval). Changes by others are seen
    /// at most this late.
    pub reconcile_interval: Duration,
    /// Whether to remove partitions that are named like ours but are not in the journal (RemoveUnknown).
    pub remove_unknown: bool,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// The partitions of the pool, if the model has one (Pool).
    pub pool: Option<ModelPool>,
    /// The IPUs of each host, if jobs get those of their nodes (HostMap).
    pub hosts: Option<HostMap>,
    /// The partition that all jobs share, if they do (SharedPartition).
    pub shared: Option<PartitionId>,
    /// Whether partitions are removed by force (ForceDeletePartition).
    pub force_remove: bool,
    /// Whether partitions are made reconfigurable (UseReconfigPartition).
    pub reconfigurable: bool,
    /// The allocation to take IPUs from (Allocation).
    pub allocation: Option<String>,
    /// The V-IPU cluster that IPUs are chosen from (Cluster).
    pub cluster: Option<String>,
    /// The agents of the allocation (AllocationAgents). Empty if they are unknown.
    pub allocation_agents: Vec<String>,
    /// The largest number of creates under way on one controller, at least one (MaxConcurrentCreates).
    pub max_concurrent_creates: usize,
    /// The directory of IPUoF files (IpuofDir). `None` if tasks need no files (Delivery).
    pub ipuof_dir: Option<Arc<Path>>,
}

impl ModelSettings {
    /// Whether the partition of a job with this id exists before the job, and stays after it.
    pub fn stays(&self, id: &PartitionId) -> bool {
        self.shared.is_some() || self.has_in_pool(id)
    }

    /// Whether a partition of this id is one of the pool.
    pub fn has_in_pool(&self, id: &PartitionId) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.has(id))
    }
}

/// One controller of a model, with the model's settings.
#[derive(Clone, Debug)]
pub struct PodSetup<C> {
    /// The model and the controller's name.
    pub pod: PodId,
    /// The model's settings.
    pub settings: ModelSettings,
    /// The connection to the controller.
    pub controller: C,
}
