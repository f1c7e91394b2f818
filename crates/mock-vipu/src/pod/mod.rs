//! The pure core: a Pod, its partitions and their life, with time handed in.
//!
//! There is no clock, no I/O and no randomness here, so that a simulation can run
//! a Pod under virtual time. Whatever happens by itself is scheduled for a point in time and takes
//! place, as of that point, when a later one is handed in.

mod calls;
mod faults;
mod hardware;
mod history;
mod incident;
mod ipus;
mod json_names;
mod other_hands;
mod partition;
mod placement;
mod queries;
mod refusal;
mod saved;
mod spec;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::nanos::Nanos;
pub(crate) use faults::CallFate;
use faults::Faults;
pub use faults::{Effect, Fault};
pub use hardware::{Allocation, Hardware};
pub use history::{DoubleOwner, Made, PartitionRecord, StateChange, Tenure, double_owners};
pub use incident::Incident;
use ipus::Ipus;
pub use json_names::{Pattern, Rpc, StatusCode};
use other_hands::OtherHands;
use partition::Partition;
pub use placement::Placement;
pub use refusal::Refusal;
pub use saved::Saved;

/// How a Pod behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Where partitions go.
    pub placement: Placement,
    /// How long making and resetting takes.
    pub create: Duration,
    /// How long removing takes.
    pub remove: Duration,
    /// How long a removed partition is shown as PS_REMOVED, with its name and its IPUs in use, before it is gone.
    pub removed: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            placement: Placement::Lowest,
            create: Duration::from_secs(2),
            remove: Duration::from_secs(1),
            removed: Duration::from_millis(300),
        }
    }
}

/// A Pod with its controller.
#[derive(Debug)]
pub struct Pod {
    settings: Settings,
    ipus: Ipus,
    partitions: BTreeMap<String, Partition>,
    /// When the next thing happens by itself to which partition.
    agenda: BTreeSet<(Nanos, String)>,
    records: Vec<PartitionRecord>,
    faults: Faults,
    other_hands: Option<OtherHands>,
}

impl Pod {
    /// A Pod without partitions.
    ///
    /// # Errors
    /// When there can be no such hardware.
    pub fn new(hardware: Hardware, settings: Settings) -> anyhow::Result<Self> {
        hardware.check()?;
        Ok(Self {
            ipus: Ipus::new(hardware, settings.placement),
            partitions: BTreeMap::new(),
            agenda: BTreeSet::new(),
            records: Vec::new(),
            faults: Faults::default(),
            other_hands: None,
            settings,
        })
    }

    /// All IPUs.
    #[must_use]
    pub fn ipus(&self) -> u32 {
        self.ipus.hardware.ipus
    }

    /// IPUs that no partition has, broken ones included.
    #[must_use]
    pub fn free_ipus(&self) -> u32 {
        self.ipus.free()
    }

    /// Everything that ever happened up to the time last handed in, oldest partition first.
    #[must_use]
    pub fn records(&self) -> &[PartitionRecord] {
        &self.records
    }

    /// Lets something go wrong from now on.
    pub fn inject(&mut self, fault: Fault) {
        match fault.effect {
            Effect::OtherHands { seed } => self.other_hands = Some(OtherHands::new(seed)),
            _ => self.faults.add(fault),
        }
    }

    /// Lets nothing go wrong any more; what already has stays as it is.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
        self.other_hands = None;
    }
}
