//! A claim with its phase, and what the ledger remembers of it.

use crate::ipu_holders::IpuHolder;
use crate::no_room::NoRoom;
use crate::partition_health::PartitionHealth;
use crate::pod::Unlisted;
use crate::{Claim, Millis, Phase};

/// A claim and how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) claim: Claim,
    pub(crate) phase: Phase,
    /// When the ledger was told of the claim.
    pub(crate) begun: Millis,
    /// When the claim came into its phase.
    pub(crate) since: Millis,
    /// That the controller had no room for the partition.
    pub(crate) no_room: Option<NoRoom>,
    /// What listings had of the partition of a job that runs.
    pub(crate) health: PartitionHealth,
}

impl Record {
    /// A claim that has just been told of, in its first phase.
    pub(crate) fn new(now: Millis, claim: Claim, phase: Phase) -> Self {
        let (no_room, health) = (None, PartitionHealth::default());
        Self { claim, phase, begun: now, since: now, no_room, health }
    }

    /// Who has the IPUs of the claim.
    pub(crate) fn ipu_holder(&self) -> IpuHolder {
        match self.phase {
            Phase::Keeping { until, .. } | Phase::Kept { until } => IpuHolder::Kept(until),
            Phase::Releasing { .. } => IpuHolder::Leaving,
            _ => IpuHolder::Job(self.claim.run.job),
        }
    }

    /// What the claim has while no listing shows its partition.
    pub(crate) fn unlisted(&self) -> Unlisted {
        let Claim { size, ipus, .. } = &self.claim;
        Unlisted { size: *size, ipus: ipus.clone(), holder: self.ipu_holder() }
    }
}
