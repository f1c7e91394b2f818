//! The removal of a partition that no running job has. One of a pool goes back into the pool.

use ledger::{Action, Claim, DriverAction, Event, Phase, Step};
use tracing::info;
use vipu_types::{PartitionId, Words, shown, words};

use super::Outcome;
use crate::frontend::Frontend;

/// What becomes of a partition that is to be removed.
enum Holder {
    /// A failed job, for which it is kept.
    Kept(Claim),
    /// The next job. It is idle.
    Idle,
    /// A job that has ended. It is being reset.
    Resetting(Claim),
    /// A job that waits for its nodes.
    Prepared(Claim),
    /// A job that has its nodes.
    Begun(Claim),
    /// Nobody. It is being removed.
    Leaving,
    /// No job of this cluster.
    Foreign,
}

impl Frontend {
    /// Removes a partition at the request of this user. False, and nothing is changed, unless it is kept for a
    /// failed job of the user. Does not wait.
    pub fn free_own(&self, user: u32, partition: &str, reason: Option<&str>) -> bool {
        let Ok(partition) = PartitionId::new(partition) else { return false };
        let Holder::Kept(claim) = self.holder(&partition) else { return false };
        if claim.user != user || self.out_of_order().is_some() {
            return false;
        }
        let why = reason.map(|reason| format!(" ({})", shown(reason))).unwrap_or_default();
        info!("{}: partition {partition} is kept no longer: its user {user} wants it{why}", claim.run);
        self.tell(Event::KeepOver(partition))
    }

    pub(super) fn free(&self, partition: &str, force: bool) -> Outcome {
        let partition = PartitionId::new(partition).map_err(Words::of)?;
        let is_of_pool = self.ledger().is_of_pool(&partition);
        let goes = if is_of_pool { "goes back into the pool" } else { "is being removed" };
        match self.holder(&partition) {
            Holder::Kept(claim) => {
                self.must_tell(Event::Freed(partition))?;
                Ok(format!("{} was kept for job {} and {goes}", claim.partition, claim.run.job))
            }
            Holder::Idle if is_of_pool => Err(words!("{partition} is free: the next job can get it")),
            Holder::Idle => {
                self.must_tell(Event::Freed(partition.clone()))?;
                Ok(format!("{partition} was idle and is being removed"))
            }
            Holder::Resetting(claim) => {
                Err(words!("{partition} is being reset after job {}: free it when it is idle", claim.run.job))
            }
            Holder::Prepared(claim) => {
                let job = claim.run.job;
                self.must_tell(Event::Forgo { job, in_vain: true })?;
                Ok(format!("{partition} was prepared for job {job}, which waits on, and is being removed"))
            }
            Holder::Begun(claim) => {
                let job = claim.run.job;
                let removes = if is_of_pool { "frees" } else { "removes" };
                Err(words!(
                    "job {job} has {partition}: `scancel {job}` ends the job and {removes} the partition"
                ))
            }
            Holder::Leaving if is_of_pool => Err(words!("{partition} is being given back already")),
            Holder::Leaving => Err(words!("{partition} is being removed already")),
            Holder::Foreign if is_of_pool => self.free_in_pool(partition),
            Holder::Foreign => self.free_foreign(partition, force),
        }
    }

    /// Gives a partition of a pool that no job has to jobs again.
    fn free_in_pool(&self, partition: PartitionId) -> Outcome {
        if !self.ledger().is_withheld(&partition) {
            return Err(words!(
                "{partition} is of a pool and has no job. slurm-vipu never removes it: mend or remove it on the controller"
            ));
        }
        let done = format!("{partition} was out of use and is given to jobs again");
        self.must_tell(Event::Freed(partition))?;
        Ok(done)
    }

    fn holder(&self, partition: &PartitionId) -> Holder {
        let ledger = self.ledger();
        let Some(claim) = ledger.holder(partition).cloned() else { return Holder::Foreign };
        let phase = ledger.phase_of(&claim);
        let live = ledger.live_claim(claim.run.job).filter(|live| live.partition == *partition);
        let early = ledger.preparation(claim.run.job).filter(|early| early.claim.partition == *partition);
        match () {
            () if phase.is_some_and(Phase::is_kept) => Holder::Kept(claim),
            () if phase.is_some_and(Phase::is_idle) => Holder::Idle,
            () if matches!(phase, Some(Phase::Releasing { step: Step::MakeIdle { .. }, .. })) => {
                Holder::Resetting(claim)
            }
            () if early.is_some() => Holder::Prepared(claim),
            () if live.is_some() => Holder::Begun(claim),
            () => Holder::Leaving,
        }
    }

    /// Removes a partition that no job of this cluster has.
    fn free_foreign(&self, partition: PartitionId, force: bool) -> Outcome {
        let found = self.ledger().foreign(&partition);
        let (pod, is_named_like_ours) = match &*found {
            [] => return Err(words!("no controller lists a partition {partition}")),
            [one] => one.clone(),
            several => {
                let controllers: Vec<_> = several.iter().map(|(pod, _)| pod.to_string()).collect();
                return Err(words!(
                    "{} have a partition {partition}: remove the right one there, with `vipu remove partition`",
                    controllers.join(" and ")
                ));
            }
        };
        if !is_named_like_ours && !force {
            return Err(words!(
                "{partition} of {pod} is not named like partitions of this cluster, so that others may use it: \
                 --force removes it all the same"
            ));
        }
        let done = format!("{pod} is asked to remove {partition}; slurmctld's log has the outcome");
        self.carry_out(vec![Action::Driver(DriverAction::RemoveForeign { pod, partition })]);
        Ok(done)
    }
}
