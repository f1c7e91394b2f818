//! The models there are, and how each is dealt with.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use vipu_types::{IpuCount, ModelName};

/// What configuration says of a model, as far as the driver has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// How long a create may take in all, retries included (CreateTimeout).
    pub create_timeout: Duration,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// Whether partitions are removed by force (ForceDeletePartition).
    pub force_remove: bool,
    /// Whether partitions are made reconfigurable (UseReconfigPartition).
    pub reconfigurable: bool,
    /// The allocation to take IPUs from (Allocation).
    pub allocation: Option<String>,
    /// How many creates may be under way at once, at least one (MaxConcurrentCreates).
    pub max_concurrent_creates: usize,
    /// Where IPUoF files go (IpuofDir).
    pub ipuof_dir: Arc<Path>,
}

/// A model with its settings and its controller.
#[derive(Clone, Debug)]
pub struct ModelSetup<C> {
    /// Its name.
    pub model: ModelName,
    /// Its settings.
    pub settings: ModelSettings,
    /// Its controller.
    pub controller: C,
}

/// A model in use. Tasks keep the one they began with; a new configuration makes new ones.
pub(crate) struct Model<C> {
    pub settings: ModelSettings,
    pub controller: C,
    /// One permit for each create that may be under way.
    pub slots: Arc<Semaphore>,
    /// How long the controller took to make the partition that was ready last.
    pub usual_create: Cell<Option<Duration>>,
}

impl<C> Model<C> {
    /// Takes `setup` into use; creates under way since `before` go on counting unless the limit changed.
    pub fn new(setup: ModelSetup<C>, before: Option<&Self>) -> Self {
        let ModelSetup { settings, controller, .. } = setup;
        let limit = settings.max_concurrent_creates.max(1);
        let slots = match before {
            Some(old) if old.settings.max_concurrent_creates == settings.max_concurrent_creates => {
                Arc::clone(&old.slots)
            }
            _ => Arc::new(Semaphore::new(limit)),
        };
        Self { settings, controller, slots, usual_create: Cell::default() }
    }
}
