//! The instructions of administrators: drains, and partitions that they have removed.

use vipu_types::{ModelName, PartitionId, PodId};

use crate::claim::Serial;
use crate::lifecycle::Signal;
use crate::{Action, Claim, Drain, DrainScope, Ending, Ledger, Millis};

impl Ledger {
    /// The drains, the first decision first.
    pub fn drains(&self) -> &[Drain] {
        self.drains.all()
    }

    /// The Pods whose last listing has this partition without a claim, and whether it is named like partitions
    /// of their model.
    pub fn foreign(&self, partition: &PartitionId) -> Vec<(PodId, bool)> {
        let listed = self
            .pods
            .iter()
            .filter(|(id, pod)| pod.listed().contains_key(partition) && !self.claims.holds(id, partition));
        let is_ours = |id: &PodId| {
            let model = self.models.get(&id.model);
            model.is_some_and(|model| partition.job(&model.facts().prefix).is_some())
        };
        listed.map(|(id, _)| (id.clone(), is_ours(id))).collect()
    }

    /// Lets nothing new start on some IPUs. Waiting jobs give up partitions that were prepared there.
    pub(crate) fn drain(&mut self, now: Millis, drain: Drain, todo: &mut Vec<Action>) {
        let scope = drain.scope.clone();
        let before = self.largest_now(&scope.model);
        self.drains.add(drain);
        self.apply_drains(&scope.model);
        for serial in self.prepared_on_drained(&scope.model) {
            self.signal(now, serial, Signal::Ended(Ending::Unheld), todo);
        }
        self.end_drained_idle(now, todo);
        self.kick_if_more_fits(&scope.model, before, todo);
    }

    /// Ends the drain of this scope.
    pub(crate) fn resume(&mut self, scope: &DrainScope, todo: &mut Vec<Action>) {
        let before = self.largest_now(&scope.model);
        self.drains.remove(scope);
        self.apply_drains(&scope.model);
        self.kick_if_more_fits(&scope.model, before, todo);
    }

    /// Tells the Pods of a model which of their IPUs are drained.
    fn apply_drains(&mut self, model: &ModelName) {
        for (id, pod) in self.pods.iter_mut().filter(|(id, _)| id.model == *model) {
            pod.set_drained(self.drains.of_pod(id));
        }
    }

    /// The preparations on drained IPUs of a model.
    fn prepared_on_drained(&self, model: &ModelName) -> Vec<Serial> {
        let is_on_drained = |claim: &Claim| {
            claim.model == *model && self.pods.get(&claim.pod()).is_some_and(|pod| pod.drains_claim(claim))
        };
        let early = self.claims.early().filter(|(_, record)| is_on_drained(&record.claim));
        early.map(|(serial, _)| serial).collect()
    }
}
