//! The pure core: a Pod, its partitions and their life. The caller hands in the time.
//!
//! There is no clock, no I/O and no randomness here, so that a simulation can run a Pod under virtual time.
//! Each step that no call brings about is due at a point in time. It takes effect, as of that point, when the
//! caller hands in that time or a later one.

mod create;
mod faults;
mod hardware;
mod history;
mod incident;
mod ipus;
mod other_hands;
mod partition;
mod placement;
mod queries;
mod remove;
mod reset;
mod saved;
mod spec;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tonic::Code;
use vipu_client::code;

pub(crate) use faults::CallFate;
use faults::Faults;
pub use faults::{Effect, Fault, Rpc, StatusCode};
pub use hardware::{Allocation, Hardware};
pub use history::{DoubleOwner, Made, Nanos, PartitionRecord, StateChange, Tenure, double_owners};
pub use incident::Incident;
use ipus::Ipus;
use other_hands::OtherHands;
use partition::Partition;
pub use placement::Placement;
pub(crate) use queries::VERSION;
pub use saved::Saved;

/// The behaviour of a Pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub placement: Placement,
    pub create: Duration,
    /// The duration of a reset. None: as long as a create.
    pub reset: Option<Duration>,
    pub remove: Duration,
    /// The time for which a removed partition is shown as PS_REMOVED, with its name and IPUs still in use.
    pub removed: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            placement: Placement::Lowest,
            create: Duration::from_secs(2),
            reset: None,
            remove: Duration::from_secs(1),
            removed: Duration::from_millis(300),
        }
    }
}

impl Settings {
    fn reset_time(&self) -> Duration {
        self.reset.unwrap_or(self.create)
    }
}

/// A Pod with its controller.
#[derive(Debug)]
pub struct Pod {
    settings: Settings,
    ipus: Ipus,
    partitions: BTreeMap<String, Partition>,
    /// The time of the next step of each partition.
    agenda: BTreeSet<(Nanos, String)>,
    records: Vec<PartitionRecord>,
    pub(crate) faults: Faults,
    other_hands: Option<OtherHands>,
}

impl Pod {
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

    pub fn ipus(&self) -> u32 {
        self.ipus.hardware.ipus
    }

    /// Returns the number of IPUs that no partition has, broken IPUs included.
    pub fn free_ipus(&self) -> u32 {
        self.ipus.free.len()
    }

    /// Returns the history up to the time last handed in, oldest partition first.
    pub fn records(&self) -> &[PartitionRecord] {
        &self.records
    }

    /// Injects a fault, which is in force from now on.
    pub fn inject(&mut self, fault: Fault) {
        match fault.effect {
            Effect::OtherHands { seed } => self.other_hands = Some(OtherHands::new(seed)),
            _ => self.faults.armed.push(fault),
        }
    }

    /// Clears all faults. Partitions that a fault has already struck stay as they are.
    pub fn clear_faults(&mut self) {
        self.faults.armed.clear();
        self.other_hands = None;
    }
}

/// The reason why a call is not carried out: a gRPC status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} ({})", code::name(*.code))]
pub struct Refusal {
    pub code: Code,
    pub text: String,
}

impl Refusal {
    pub(crate) fn invalid(text: impl ToString) -> Self {
        Self { code: Code::InvalidArgument, text: text.to_string() }
    }

    pub(crate) fn not_found(kind: &str, name: &str) -> Self {
        Self { code: Code::NotFound, text: format!("no {kind} '{name}'") }
    }

    pub(crate) fn no_room(text: impl Into<String>) -> Self {
        Self { code: Code::ResourceExhausted, text: text.into() }
    }

    pub(crate) fn not_ready(text: impl Into<String>) -> Self {
        Self { code: Code::FailedPrecondition, text: text.into() }
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.text)
    }
}
