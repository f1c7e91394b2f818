//! The removal of a partition that no running job has. One of a pool goes back into the pool.

use ledger::{Action, Claim, DriverAction, Event, Phase, Step};
use tracing::info;
use vipu_admin::UserRequest;
use vipu_types::{PartitionId, Words, shown, words};

use super::Outcome;
use crate::frontend::Frontend;

/// The holder of a partition that is to be removed.
enum Holder {
    /// A failed job, for which it is kept.
    Kept,
    /// The next job. It is idle.
    Idle,
    /// A job that has ended. It is being reset.
    Resetting,
    /// A job that waits for its nodes.
    Prepared,
    /// A job that has its nodes.
    Begun,
    /// Nobody. It is being removed.
    Leaving,
}

impl Frontend {
    /// Removes a partition at the request of this user, if it is kept for a failed job of the user. The error says why
    /// nothing is changed. It is the same for a partition of another user and for one that there is not. Does not wait.
    pub fn free_own(&self, user: u32, request: &UserRequest) -> Outcome {
        self.must_be_in_order()?;
        let unknown = || {
            let partition = shown(&request.partition);
            words!(
                "partition {partition} is unknown, or of another user: `svipu --me partitions` lists yours"
            )
        };
        let partition = PartitionId::new(&*request.partition).map_err(|_| unknown())?;
        let (holder, claim) = self.holder(&partition).ok_or_else(unknown)?;
        match holder {
            Holder::Idle => Err(words!("{partition} is idle: no job has it, and the next one can get it")),
            _ if claim.user != user => Err(unknown()),
            Holder::Kept => {
                let why =
                    request.reason.as_deref().map(|why| format!(" ({})", shown(why))).unwrap_or_default();
                info!(
                    "{}: partition {partition} is kept no longer: its user {user} wants it{why}",
                    claim.run
                );
                self.must_tell(Event::KeepOver(partition))?;
                Ok(self.kept_no_longer(&claim))
            }
            Holder::Resetting => Err(words!("{partition} is being reset after job {}", claim.run.job)),
            Holder::Prepared | Holder::Begun => Err(self.has_it(&claim)),
            Holder::Leaving => Err(self.is_leaving(&partition)),
        }
    }

    pub(super) fn free(&self, partition: &str, force: bool) -> Outcome {
        let partition = PartitionId::new(partition).map_err(Words::of)?;
        let is_of_pool = self.is_of_pool(&partition);
        let Some((holder, claim)) = self.holder(&partition) else {
            return if is_of_pool {
                self.free_in_pool(partition)
            } else {
                self.free_foreign(partition, force)
            };
        };
        let job = claim.run.job;
        match holder {
            Holder::Kept => {
                self.must_tell(Event::Freed(partition))?;
                Ok(self.kept_no_longer(&claim))
            }
            Holder::Idle if is_of_pool => Err(words!("{partition} is free: the next job can get it")),
            Holder::Idle => {
                self.must_tell(Event::Freed(partition.clone()))?;
                Ok(format!("{partition} was idle and is being removed"))
            }
            Holder::Resetting => {
                Err(words!("{partition} is being reset after job {job}: free it when it is idle"))
            }
            Holder::Prepared => {
                self.must_tell(Event::Forgo { job, in_vain: true })?;
                Ok(format!("{partition} was prepared for job {job}, which waits on, and is being removed"))
            }
            Holder::Begun => Err(self.has_it(&claim)),
            Holder::Leaving => Err(self.is_leaving(&partition)),
        }
    }

    fn is_of_pool(&self, partition: &PartitionId) -> bool {
        self.ledger().is_of_pool(partition)
    }

    fn kept_no_longer(&self, Claim { partition, run, .. }: &Claim) -> String {
        let goes = if self.is_of_pool(partition) { "goes back into the pool" } else { "is being removed" };
        format!("{partition} was kept for job {} and {goes}", run.job)
    }

    fn has_it(&self, Claim { partition, run, .. }: &Claim) -> Words {
        let (job, removes) = (run.job, if self.is_of_pool(partition) { "frees" } else { "removes" });
        words!("job {job} has {partition}: `scancel {job}` ends the job and {removes} the partition")
    }

    fn is_leaving(&self, partition: &PartitionId) -> Words {
        let goes = if self.is_of_pool(partition) { "given back" } else { "removed" };
        words!("{partition} is being {goes} already")
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

    /// The holder of a partition and its last claim. `None` if no job of this cluster has it.
    fn holder(&self, partition: &PartitionId) -> Option<(Holder, Claim)> {
        let ledger = self.ledger();
        let claim = ledger.holder(partition)?.clone();
        let phase = ledger.phase_of(&claim);
        let live = ledger.live_claim(claim.run.job).filter(|live| live.partition == *partition);
        let early = ledger.preparation(claim.run.job).filter(|early| early.claim.partition == *partition);
        let holder = match () {
            () if phase.is_some_and(Phase::is_kept) => Holder::Kept,
            () if phase.is_some_and(Phase::is_idle) => Holder::Idle,
            () if matches!(phase, Some(Phase::Releasing { step: Step::MakeIdle { .. }, .. })) => {
                Holder::Resetting
            }
            () if early.is_some() => Holder::Prepared,
            () if live.is_some() => Holder::Begun,
            () => Holder::Leaving,
        };
        Some((holder, claim))
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
