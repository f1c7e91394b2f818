//! The check whether a partition may be made under its id.
//!
//! Two clusters may share a controller and a prefix, and calls for an id may take effect late.

use super::{Create, Setback};
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::{Controller, Environment, PartitionState};

impl<W: Environment> Create<'_, W> {
    /// Fails if an earlier call for this id may still hit the new partition.
    pub(super) fn id_is_good(&self) -> Result<(), Stop> {
        if self.tracked.is_spent(self.claim) { Err(Stop::IdSpent) } else { Ok(()) }
    }

    /// Makes sure that no other cluster has a partition of this id on the controller.
    pub(super) async fn id_is_free(&mut self) -> Result<(), Setback> {
        match self.status().await? {
            PartitionState::Absent => Ok(()),
            // The name will be free, whoever had it.
            PartitionState::Removing | PartitionState::Removed => self.gone().await,
            _ => Err(self.is_of_others().into()),
        }
    }

    fn is_of_others(&self) -> Stop {
        let (controller, partition) = (self.pod.controller.name(), &self.claim.partition);
        let advice = "this cluster's journal does not have it; the administrator removes it, or sets another PartitionPrefix";
        Stop::Failed(format!(
            "controller {controller}: partition {partition}: there is one of this id: {advice}"
        ))
    }

    /// Confirms that this slurmctld is in charge, before a call without a journal entry of its own. A successor may
    /// have made a partition of this id by now.
    pub(super) async fn still_in_charge(&mut self) -> Result<(), Setback> {
        let confirmed = self.deadline.hold(self.shared.confirm()).await?;
        confirmed.map_err(|error| Setback::Again(error.to_string().into(), Counts::Never))
    }
}
