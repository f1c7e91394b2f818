//! Whose a partition is that is there already under the id of one that is to be made.
//!
//! A slurmctld that was killed may hand out a job id twice, and two clusters may share a controller and a prefix.

use super::{Blame, Create, Setback};
use crate::lane::Owner;
use crate::patience::Stop;
use crate::{Controller, Files, PartitionState, World};

impl<W: World> Create<'_, W> {
    /// Whether nobody has a partition of this id: another cluster on the controller may.
    pub(super) async fn id_is_free(&mut self) -> Result<(), Setback> {
        match self.status().await? {
            PartitionState::Absent => Ok(()),
            _ if self.is_contested() => self.clear_away().await,
            _ => Err(self.is_of_others("there is one of this id").into()),
        }
    }

    pub(super) fn is_of_others(&self, words: &str) -> Stop {
        let (controller, partition) = (self.pod.controller.name(), &self.claim.partition);
        let advice = "this cluster's journal does not have it; the administrator removes it, or sets another PartitionPrefix";
        Stop::Failed(format!("controller {controller}: partition {partition}: {words}: {advice}"))
    }

    /// One try to remove what was made for an earlier run of this id, and its files.
    pub(super) async fn clear_away(&mut self) -> Result<(), Setback> {
        let partition = &self.claim.partition;
        tracing::warn!(
            "{}: what an earlier run made, or may still make, as partition {partition} is removed first",
            self.claim.run
        );
        let pod = self.shop.pod(&self.lane.at_home(self.claim));
        let pod = pod.map_err(|why| Setback::Again(why.into(), Blame::Nobody))?;
        self.still_in_charge().await?;
        pod.controller.remove(partition, pod.settings.force_remove).await?;
        self.gone(&pod).await?;
        let directory = self.lane.directory.borrow().clone();
        if let Some(directory) = directory.or_else(|| self.pod.settings.ipuof_dir.clone()) {
            let withdrawn = self.shop.world.files().withdraw(&directory, self.claim);
            let withdrawn = self.patience.hold(withdrawn).await?;
            withdrawn.map_err(|error| Setback::Again(error.to_string().into(), Blame::Nobody))?;
        }
        // What a create of the earlier run makes late is ours to remove all the same.
        self.lane.owner.set(match self.lane.owner.get() {
            Owner::Run(earlier) | Owner::Late(earlier) if self.lane.unanswered.get() > 0 => {
                Owner::Late(earlier)
            }
            _ => Owner::Others,
        });
        Ok(())
    }

    /// Before a removal that the journal is not told of: by now a successor may have made one of this id.
    pub(super) async fn still_in_charge(&mut self) -> Result<(), Setback> {
        let confirmed = self.patience.hold(self.shop.confirm()).await?;
        confirmed.map_err(|error| Setback::Again(error.to_string().into(), Blame::Nobody))
    }

    /// Whether a partition that is there may have been made for an earlier run of this id.
    pub(super) fn is_contested(&self) -> bool {
        self.anothers_calls > 0
    }
}
