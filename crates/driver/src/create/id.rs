//! Whether a partition may be made under its id.
//!
//! Two clusters may share a controller and a prefix, and calls that were sent for an id may take effect late.

use super::{Create, Setback};
use crate::call_failure::Counts;
use crate::create_deadline::Stop;
use crate::{Controller, Environment, PartitionState};

impl<W: Environment> Create<'_, W> {
    /// Nothing that was sent for this id before may hit what is made now.
    pub(super) fn id_is_good(&self) -> Result<(), Stop> {
        if self.tracked.is_spent(self.claim) { Err(Stop::IdSpent) } else { Ok(()) }
    }

    /// Makes sure that nobody has a partition of this id: another cluster on the controller may.
    pub(super) async fn id_is_free(&mut self) -> Result<(), Setback> {
        match self.status().await? {
            PartitionState::Absent => Ok(()),
            // Whoever it was of, its name will be free.
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

    /// Before a removal that the journal is not told of: by now a successor may have made one of this id.
    pub(super) async fn still_in_charge(&mut self) -> Result<(), Setback> {
        let confirmed = self.deadline.hold(self.context.confirm()).await?;
        confirmed.map_err(|error| Setback::Again(error.to_string().into(), Counts::Never))
    }
}
