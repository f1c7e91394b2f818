//! Models with a pool: the choice of the partition for a job.

use std::collections::{BTreeMap, BTreeSet};

use vipu_types::{ControllerName, IpuCount, ModelName, PartitionId, PodId, Words};

use crate::pod::Pod;
use crate::{
    Claim, Jobs, Ledger, Millis, Phase, PoolBlock, PoolMember, PoolMemberState, PoolPartition, Wish,
};

/// The partition of a pool that a job gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolChoice {
    /// Its id.
    pub partition: PartitionId,
    /// Its size, which may be larger than that of the job's request.
    pub size: IpuCount,
    /// The number of its GCDs.
    pub gcds: u32,
    /// Whether it is reset before the job gets it.
    pub needs_reset: bool,
}

impl PoolPartition {
    fn choice(&self, needs_reset: bool) -> PoolChoice {
        let (partition, size) = (self.seen.partition.clone(), self.block.size);
        PoolChoice { partition, size, gcds: self.gcds, needs_reset }
    }

    /// Whether a job of this size could use it if it were free.
    fn is_good_for(&self, size: IpuCount) -> bool {
        self.block.serves(size) && self.seen.fault.is_none() && !self.seen.leaving
    }
}

impl Ledger {
    /// Whether a partition is one of a pool.
    pub fn is_of_pool(&self, partition: &PartitionId) -> bool {
        self.pods.values().any(|pod| pod.is_in_pool(partition))
    }

    /// The partitions of a pool, in the order of its layout. Empty if the Pod has no pool.
    pub(crate) fn pool_members(&self, id: &PodId) -> Vec<PoolMember> {
        let Some(pod) = self.pods.get(id) else { return Vec::new() };
        let member = |it: &PoolPartition| {
            let partition = it.seen.partition.clone();
            let holder = self.claims.holder(&partition).filter(|(_, record)| record.claim.pod() == *id);
            let state = match holder.map(|(_, record)| &record.phase) {
                None => pod.state_without_claim(it, self.is_withheld(&partition)),
                Some(Phase::Idle { .. }) => PoolMemberState::Free,
                Some(Phase::Releasing { .. }) => PoolMemberState::Returning,
                Some(_) => PoolMemberState::Used,
            };
            PoolMember { partition, block: it.block, state }
        };
        pod.pool_partitions().map(member).collect()
    }

    /// Whether the jobs of a model get partitions of a pool.
    pub fn is_pool(&self, model: &ModelName) -> bool {
        self.models.get(model).is_some_and(|model| model.facts().is_pool)
    }

    /// The sizes of the partitions of a pool. Empty if no controller has answered.
    pub fn pool_sizes(&self, model: &ModelName) -> BTreeSet<IpuCount> {
        self.pool_blocks(model).map(|block| block.size).collect()
    }

    fn pool_blocks(&self, model: &ModelName) -> impl Iterator<Item = PoolBlock> {
        let pods = self.models.get(model).into_iter().flat_map(|model| model.pods());
        pods.filter_map(|id| self.pods.get(id)).flat_map(Pod::pool_partitions).map(|it| it.block)
    }

    /// Whether the partition of a claim serves a job of this size.
    pub fn serves(&self, claim: &Claim, size: IpuCount) -> bool {
        let of_pool = self.pods.get(&claim.pod()).and_then(|pod| pod.in_pool(&claim.partition));
        of_pool.map_or(claim.size == size, |it| it.block.serves(size))
    }

    /// Whether a partition of the pool serves a job of this size, free or not.
    pub fn pool_serves(&self, model: &ModelName, size: IpuCount) -> bool {
        self.pool_blocks(model).any(|block| block.serves(size))
    }

    /// The claims of partitions of a pool that an earlier run of this job has left. Processes of that run may be left, so
    /// no other job gets these partitions for a while.
    pub(crate) fn left_in_pool(
        &self,
        model: &ModelName,
        job: u32,
        user: u32,
    ) -> impl Iterator<Item = &Claim> {
        let left = self.claims.kept().filter(move |(_, record)| record.is_left_by(job, user));
        left.map(|(_, record)| &record.claim).filter(|claim| claim.model == *model && self.in_pool(claim))
    }

    /// The claim of such a partition that serves the job and can be given to it now.
    pub(crate) fn left_for(&self, wish: &Wish, user: u32) -> Option<&Claim> {
        self.left_in_pool(&wish.model, wish.job(), user).find(|claim| {
            let pod = self.usable_pods(&wish.model).find(|(id, _)| **id == claim.pod());
            let pod = pod.filter(|(_, pod)| wish.may_use(&claim.controller) && !pod.drains_claim(claim));
            let partition = pod.and_then(|(_, pod)| pod.in_pool(&claim.partition));
            partition.is_some_and(|it| it.is_good_for(wish.size))
        })
    }

    /// The partition of the pool for a job that may start: that of an earlier run of the job, otherwise the smallest that
    /// serves it and delays no job before it. Of several, one that needs no reset for this user. None if none is free.
    pub fn choose_in_pool(
        &mut self,
        wish: &Wish,
        controller: &ControllerName,
        user: u32,
        jobs: &impl Jobs,
    ) -> Option<PoolChoice> {
        let id = PodId { model: wish.model.clone(), controller: controller.clone() };
        if let Some(left) = self.left_for(wish, user).filter(|left| left.controller == *controller) {
            return self.pods.get(&id)?.in_pool(&left.partition).map(|it| it.choice(true));
        }
        let number = self.usable_pods(&wish.model).position(|(id, _)| id.controller == *controller)?;
        let harmless = self.free_times(&wish.model, jobs).harmless_place(number, wish, jobs.now()).ok();
        let first = harmless.and_then(|ipus| ipus.first().map(|ipus| ipus.start));
        let is_alone = self.line.nobody_before(wish);
        let free: Vec<_> = self.pods.get(&id)?.free_in_pool().collect();
        let chosen = free.iter().find(|(_, ipus)| Some(ipus.start) == first);
        let smallest =
            || free.iter().filter(|(it, _)| it.block.serves(wish.size)).min_by_key(|(it, _)| it.block.size);
        let (chosen, _) = chosen.or_else(smallest)?;
        let rule = self.reset_rule(&wish.model);
        let is_clean = |id: &PartitionId| {
            self.claims.holder(id).is_some_and(|(_, record)| !record.needs_reset_for(user, rule))
        };
        // Partitions of one size may differ for the jobs before this one.
        let equals = free.iter().map(|(it, _)| it).filter(|it| is_alone && it.block == chosen.block);
        let chosen = equals.into_iter().find(|it| is_clean(&it.seen.partition)).unwrap_or(chosen);
        Some(chosen.choice(!is_clean(&chosen.seen.partition)))
    }

    /// Notes the partitions of the listing that arrives next. Ids name partitions without their controller, so no job
    /// gets one whose id is also in another pool.
    pub(crate) fn note_pool(
        &mut self,
        id: &PodId,
        mut partitions: Vec<PoolPartition>,
        missing: BTreeMap<PartitionId, Words>,
    ) {
        let others = || self.pods.iter().filter(|(other, _)| *other != id).map(|(_, pod)| pod);
        let is_elsewhere = |partition: &PartitionId| {
            let holder = self.claims.holder(partition);
            holder.is_some_and(|(_, record)| record.claim.pod() != *id)
                || others().any(|pod| pod.is_in_pool(partition))
        };
        for it in &mut partitions {
            if is_elsewhere(&it.seen.partition) {
                it.seen.fault = Some("another Pod has a partition of this name".into());
            }
        }
        if let Some(pod) = self.pods.get_mut(id) {
            pod.note_pool(partitions, missing);
        }
    }

    /// Whether a partition of a pool was prepared for a job that did not begin on it. No process has seen it.
    pub(crate) fn is_unused_of_pool(&self, partition: &PartitionId) -> bool {
        let holder = self.claims.holder(partition);
        holder.is_some_and(|(_, it)| !it.claim.run.has_begun() && it.is_of_pool)
    }

    /// The time since when a partition is kept for its job.
    pub(crate) fn kept_since(&self, partition: &PartitionId) -> Option<Millis> {
        self.claims.holder(partition)?.1.kept_since
    }
}
