//! Partitions of pools that are given to no job for a while: they could not be given to a job or be reset, or processes of
//! their last job may be left.
//!
//! The time goes on whatever a controller lists and whatever the settings are.

use std::collections::HashMap;
use std::time::Duration;

use vipu_types::PartitionId;

use crate::{Action, Claim, DriverAction, HostAction, Ledger, Millis};

/// The time for which a partition is withheld. The driver waits as long for calls that were not answered.
const WITHHELD: Duration = Duration::from_secs(600);

/// The partitions that are withheld, each with the end of its time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withheld(HashMap<PartitionId, Millis>);

impl Withheld {
    pub(crate) fn has(&self, partition: &PartitionId) -> bool {
        self.0.contains_key(partition)
    }

    fn add(&mut self, now: Millis, partition: PartitionId, left: Duration) {
        let left = u64::try_from(left.min(WITHHELD).as_millis()).unwrap_or(u64::MAX);
        self.0.insert(partition, Millis(now.0.saturating_add(left)));
    }

    /// Forgets the partitions whose time is over.
    pub(crate) fn review(&mut self, now: Millis) {
        self.0.retain(|_, until| now < *until);
    }
}

impl Ledger {
    /// Whether a partition of a pool is given to no job for a while.
    pub fn is_withheld(&self, partition: &PartitionId) -> bool {
        self.withheld.has(partition)
    }

    /// Gives a partition of a pool to no job for a while. The time counts from `since`.
    pub(crate) fn withhold(
        &mut self,
        now: Millis,
        since: Millis,
        partition: &PartitionId,
        todo: &mut Vec<Action>,
    ) {
        let Some((_, record)) = self.claims.holder(partition).filter(|(_, record)| record.is_of_pool) else {
            return;
        };
        let passed = Duration::from_millis(now.0.saturating_sub(since.0));
        let Some(left) = WITHHELD.checked_sub(passed).filter(|left| !left.is_zero()) else { return };
        todo.push(Action::Driver(DriverAction::Withhold(record.claim.clone(), left)));
        self.withheld.add(now, partition.clone(), left);
    }

    /// Goes on withholding the partition of this claim, whose run an earlier front end knew. If Slurm's saved state is
    /// older, it may say that an earlier job still has the partition.
    pub(crate) fn go_on_withholding(
        &mut self,
        now: Millis,
        claim: Claim,
        left: Duration,
        todo: &mut Vec<Action>,
    ) {
        let holder = self.claims.holder(&claim.partition).map(|(_, record)| record.claim.run);
        if holder.is_some_and(|holder| claim.run.is_of_later_job(&holder)) {
            self.settle_shared_id(now, &claim, todo);
        }
        if self.claims.holder(&claim.partition).is_none() {
            self.pods.values_mut().for_each(|pod| pod.set_withheld(&claim.partition, true));
        }
        self.withheld.add(now, claim.partition, left);
    }

    /// Gives a partition of a pool to jobs again.
    pub(crate) fn end_withheld(&mut self, partition: &PartitionId, todo: &mut Vec<Action>) {
        if self.withheld.0.remove(partition).is_none() {
            return;
        }
        if self.claims.holder(partition).is_none() {
            self.pods.values_mut().for_each(|pod| pod.set_withheld(partition, false));
        }
        todo.push(Action::Driver(DriverAction::EndWithheld(partition.clone())));
        todo.push(Action::Host(HostAction::KickScheduler));
    }
}
