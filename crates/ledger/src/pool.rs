//! Models with a pool: the choice of the partition for a job.

use std::collections::BTreeSet;

use vipu_types::{ControllerName, IpuCount, ModelName, PartitionId, PodId};

use crate::pod::Pod;
use crate::{Jobs, Ledger, Millis, PoolBlock, PoolPartition, Wish};

/// The partition of a pool that a job gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolChoice {
    /// Its id.
    pub partition: PartitionId,
    /// Its size, which may be larger than that of the job's request.
    pub size: IpuCount,
    /// The number of its GCDs.
    pub gcds: u32,
}

impl Ledger {
    /// Whether the jobs of a model get partitions of a pool.
    pub fn is_pool(&self, model: &ModelName) -> bool {
        self.models.get(model).is_some_and(|model| model.facts().is_pool)
    }

    /// The sizes of the partitions of a pool. Empty if no controller has answered.
    pub fn pool_sizes(&self, model: &ModelName) -> BTreeSet<IpuCount> {
        let pods = self.models.get(model).into_iter().flat_map(|model| model.pods());
        pods.filter_map(|id| self.pods.get(id)).flat_map(Pod::pool_blocks).map(|block| block.size).collect()
    }

    /// Whether a partition of the pool serves a job of this size, free or not.
    pub fn pool_serves(&self, model: &ModelName, size: IpuCount) -> bool {
        let pods = self.models.get(model).into_iter().flat_map(|model| model.pods());
        pods.filter_map(|id| self.pods.get(id)).flat_map(Pod::pool_blocks).any(|block| block.serves(size))
    }

    /// The partition of the pool for a job that may start: the smallest that serves it and delays no job before it.
    /// Of several, one that needs no reset for this user. None if none is free.
    pub fn choose_in_pool(
        &mut self,
        wish: &Wish,
        controller: &ControllerName,
        user: u32,
        jobs: &impl Jobs,
    ) -> Option<PoolChoice> {
        let number = self.usable_pods(&wish.model).position(|(id, _)| id.controller == *controller)?;
        let harmless = self.free_times(&wish.model, jobs).harmless_place(number, wish, jobs.now()).ok();
        let first = harmless.and_then(|ipus| ipus.first().map(|ipus| ipus.start));
        let is_alone = self.line.nobody_before(wish);
        let id = PodId { model: wish.model.clone(), controller: controller.clone() };
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
        let PoolBlock { size, .. } = chosen.block;
        Some(PoolChoice { partition: chosen.seen.partition.clone(), size, gcds: chosen.gcds })
    }

    /// Notes the partitions of the listing that arrives next. Ids name partitions without their controller, so no job
    /// gets one whose id is also in another pool.
    pub(crate) fn note_pool(&mut self, id: &PodId, mut partitions: Vec<PoolPartition>) {
        let others = || self.pods.iter().filter(|(other, _)| *other != id).map(|(_, pod)| pod);
        let is_elsewhere = |partition: &PartitionId| {
            let holder = self.claims.holder(partition);
            holder.is_some_and(|(_, record)| record.claim.pod() != *id)
                || others().any(|pod| pod.is_in_pool(partition))
        };
        for it in &mut partitions {
            if is_elsewhere(&it.seen.partition) {
                it.seen.fault = Some("another Pod has a partition of this name".to_owned());
            }
        }
        if let Some(pod) = self.pods.get_mut(id) {
            pod.note_pool(partitions);
        }
    }

    /// Gives a partition of a pool to no job for a while. It could not be given to a job or be reset, or processes of
    /// its last job may be left.
    pub(crate) fn put_aside(&mut self, now: Millis, partition: &PartitionId) {
        let Some((_, record)) = self.claims.holder(partition) else { return };
        if let Some(pod) = self.pods.get_mut(&record.claim.pod()) {
            pod.put_aside(now, partition);
        }
    }
}
