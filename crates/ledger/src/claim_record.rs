//! A claim with its phase, and the ledger's notes on it.

use crate::claim::Serial;
use crate::ipu_holders::IpuHolder;
use crate::partition_health::PartitionHealth;
use crate::pod::Unlisted;
use crate::refusals::NoRoom;
use crate::{Claim, Millis, Phase};

/// A claim and its phase.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) claim: Claim,
    pub(crate) phase: Phase,
    /// The time at which the ledger was told of the claim.
    pub(crate) begun: Millis,
    /// The time at which the claim came into its phase.
    pub(crate) since: Millis,
    /// The time since when the partition was kept for a while. Its run had ended.
    pub(crate) kept_since: Option<Millis>,
    /// The note that the controller had no room for the partition.
    pub(crate) no_room: Option<NoRoom>,
    /// Whether the partition was up.
    pub(crate) was_up: bool,
    /// Whether the partition was idle. If it is being removed, that may be to make room for another claim.
    pub(crate) was_idle: bool,
    /// Whether its model has other settings now than when the partition was asked for.
    pub(crate) is_outdated: bool,
    /// Whether the partition was idle before, and had another claim.
    pub(crate) is_reused: bool,
    /// Whether the partition is of a pool, so that it is not removed.
    pub(crate) is_of_pool: bool,
    /// Findings of listings about the partition of a running job.
    pub(crate) health: PartitionHealth,
}

impl Record {
    /// A new claim in its first phase.
    pub(crate) fn new(now: Millis, claim: Claim, phase: Phase) -> Self {
        let was_up = phase == Phase::Running;
        let kept_since = phase.is_kept().then_some(now);
        let (no_room, health) = (None, PartitionHealth::default());
        Self {
            claim,
            phase,
            begun: now,
            since: now,
            kept_since,
            no_room,
            was_up,
            was_idle: false,
            is_outdated: false,
            is_reused: false,
            is_of_pool: false,
            health,
        }
    }

    /// The holder of the claim's IPUs.
    pub(crate) fn ipu_holder(&self, serial: Serial) -> IpuHolder {
        match self.phase {
            Phase::Keeping { until, .. } | Phase::Kept { until } => {
                IpuHolder::Kept { job: self.claim.run.job, until }
            }
            Phase::Releasing { .. } => IpuHolder::Leaving,
            Phase::Idle { .. } => IpuHolder::Idle(serial),
            _ => IpuHolder::Job(self.claim.run.job),
        }
    }

    /// The claim's IPUs while no listing shows its partition.
    pub(crate) fn unlisted(&self, serial: Serial) -> Unlisted {
        let Claim { size, ipus, .. } = &self.claim;
        Unlisted { size: *size, ipus: ipus.clone(), holder: self.ipu_holder(serial) }
    }
}
