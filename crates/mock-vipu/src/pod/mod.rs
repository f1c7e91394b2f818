//! The pure core: a Pod, its partitions and their life, with time handed in.
//!
//! There is no clock, no I/O and no randomness but from a seed here, so that a simulation can run
//! a Pod under virtual time. Whatever happens by itself is scheduled for a point in time and takes
//! place, as of that point, when a later one is handed in.

mod caller;
mod calls;
mod faults;
mod ground;
mod hardware;
mod history;
mod incident;
mod latency;
mod life;
mod partition;
mod placement;
mod refusal;
mod saved;
mod spec;
mod views;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::moment::Nanos;
pub use caller::Allocations;
pub(crate) use caller::Caller;
pub(crate) use faults::CallFate;
use faults::Faults;
pub use faults::{Effect, Fault};
use ground::Ground;
pub use hardware::{Allocation, BadHardware, Hardware, Topology};
pub use history::{DoubleOwner, Made, PartitionRecord, StateChange, Tenure, double_owners};
pub use incident::Incident;
pub use latency::{BadTime, Latency, parse_time};
use partition::Partition;
pub use placement::Placement;
pub use refusal::Refusal;
pub use saved::{NotOurs, Saved};
pub use words::{Pattern, Rpc, StatusCode};

/// How a Pod behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where partitions go.
    pub placement: Placement,
    /// How long making and resetting takes.
    pub create: Latency,
    /// How long removing takes.
    pub remove: Duration,
    /// How long a removed partition is shown as PS_REMOVED, with its name and its IPUs in use, before it is gone.
    pub removed: Duration,
    /// The server's version.
    pub version: String,
    /// Of the jitter.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            placement: Placement::Lowest,
            create: Latency::Fixed(Duration::from_secs(2)),
            remove: Duration::from_secs(1),
            removed: Duration::from_millis(300),
            version: "1.18.0".to_owned(),
            seed: 0,
        }
    }
}

/// A Pod with its controller.
#[derive(Debug)]
pub struct Pod {
    settings: Settings,
    ground: Ground,
    partitions: BTreeMap<String, Partition>,
    /// When the next thing happens by itself to which partition.
    agenda: BTreeSet<(Nanos, String)>,
    records: Vec<PartitionRecord>,
    faults: Faults,
    random: StdRng,
}

impl Pod {
    /// A Pod without partitions.
    ///
    /// # Errors
    /// When there can be no such hardware.
    pub fn new(hardware: Hardware, settings: Settings) -> Result<Self, BadHardware> {
        hardware.check()?;
        Ok(Self {
            ground: Ground::new(hardware, settings.placement),
            partitions: BTreeMap::new(),
            agenda: BTreeSet::new(),
            records: Vec::new(),
            faults: Faults::default(),
            random: StdRng::seed_from_u64(settings.seed),
            settings,
        })
    }

    /// All IPUs.
    #[must_use]
    pub fn ipus(&self) -> u32 {
        self.ground.hardware.ipus
    }

    /// IPUs that no partition has, broken ones included.
    #[must_use]
    pub fn free_ipus(&self) -> u32 {
        self.ground.free()
    }

    /// Everything that ever happened up to the time last handed in, oldest partition first.
    #[must_use]
    pub fn records(&self) -> &[PartitionRecord] {
        &self.records
    }

    /// When something next happens by itself.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.agenda.first().map(|(at, _)| *at)
    }

    /// Lets something go wrong from now on.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.add(fault);
    }

    /// Lets nothing go wrong any more; what already has stays as it is.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }
}
