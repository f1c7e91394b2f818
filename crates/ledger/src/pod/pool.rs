//! The pool of a Pod: partitions that exist before the jobs and stay after them.
//!
//! Only the IPUs of these partitions count. They are numbered in the order of the [`Layout`], and a job has all IPUs
//! of a partition.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use vipu_types::{PartitionId, Place};

use super::{Contact, Hardware, Listed, Pod};
use crate::ipu_holders::IpuHolder;
use crate::{Layout, Millis, PoolBlock, PoolMemberState, PoolPartition, SeenPartition};

/// The time in milliseconds for which a partition with a fault is given to no job. The driver waits as long for calls
/// that were not answered.
const PUT_ASIDE: u64 = 600_000;

/// The partitions of a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodPool {
    /// The partitions of the last listing, in the order of the layout, each with its IPUs.
    partitions: Vec<(PoolPartition, Range<usize>)>,
    /// Those of a listing that has just arrived.
    news: Vec<PoolPartition>,
    /// The partitions that the controller should have and has not, with the reasons.
    missing: BTreeMap<PartitionId, String>,
    /// The partitions that are given to no job for a while, with the time of the fault.
    put_aside: HashMap<PartitionId, Millis>,
}

impl PodPool {
    /// Takes the partitions that were noted last. Returns their layout.
    pub(super) fn take_news(&mut self, now: Millis) -> Layout {
        let mut news = std::mem::take(&mut self.news);
        news.sort_by(|one, other| {
            let by_name = one.seen.partition.cmp(&other.seen.partition);
            other.block.size.cmp(&one.block.size).then(by_name)
        });
        let layout = Layout::Pool(news.iter().map(|partition| partition.block).collect());
        let ipus = layout.pool().into_iter().flatten().map(|(_, ipus)| ipus);
        self.partitions = news.into_iter().zip(ipus).collect();
        let there: HashSet<_> = self.partitions.iter().map(|(it, _)| &it.seen.partition).collect();
        self.put_aside.retain(|id, since| there.contains(id) && now.0 < since.0 + PUT_ASIDE);
        layout
    }

    /// The holder of the IPUs of a partition that no claim has.
    fn holder_without_claim(&self, it: &PoolPartition) -> IpuHolder {
        let SeenPartition { partition, fault, leaving, .. } = &it.seen;
        match fault.is_none() && !leaving && it.is_ready && !self.put_aside.contains_key(partition) {
            true => IpuHolder::Unused,
            false => IpuHolder::Unknown,
        }
    }

    fn get(&self, id: &PartitionId) -> Option<&(PoolPartition, Range<usize>)> {
        self.partitions.iter().find(|(it, _)| it.seen.partition == *id)
    }

    /// The numbers of the IPUs of a partition.
    pub(super) fn ipus_of(&self, id: &PartitionId) -> Option<Range<usize>> {
        self.get(id).map(|(_, ipus)| ipus.clone())
    }
}

impl Pod {
    pub(crate) fn is_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Whether a partition is one of the pool.
    pub(crate) fn is_in_pool(&self, id: &PartitionId) -> bool {
        self.in_pool(id).is_some()
    }

    /// A partition of the pool.
    pub(crate) fn in_pool(&self, id: &PartitionId) -> Option<&PoolPartition> {
        self.pool.as_ref()?.get(id).map(|(it, _)| it)
    }

    /// Notes the partitions of the listing that arrives next.
    pub(crate) fn note_pool(
        &mut self,
        partitions: Vec<PoolPartition>,
        missing: BTreeMap<PartitionId, String>,
    ) {
        if let Some(pool) = &mut self.pool {
            (pool.news, pool.missing) = (partitions, missing);
        }
    }

    /// Takes the noted partitions as the listing of a pool.
    pub(super) fn list_pool(
        &mut self,
        now: Millis,
        asked: Millis,
        holder: impl Fn(&PartitionId) -> IpuHolder,
    ) -> bool {
        let Some(pool) = &self.pool else { return false };
        let ipus = pool.partitions.last().map_or(0, |(_, ipus)| ipus.end as u32);
        let domain = self.layout.domain(ipus);
        let listed = pool.partitions.iter().map(|(it, ipus)| {
            let id = &it.seen.partition;
            let places = ipus.clone().map(|ipu| Place::numbered(ipu, domain)).collect();
            let holder = match holder(id) {
                IpuHolder::Unknown => pool.holder_without_claim(it),
                holder => holder,
            };
            (id.clone(), Listed { places, holder })
        });
        self.listed = listed.collect();
        if !self.is_reached() {
            self.contact_since = now;
        }
        self.hardware = Hardware { ipus, faulty: 0 };
        (self.contact, self.asked) = (Contact::Reached, asked);
        true
    }

    /// The holder of the IPUs of a partition of the pool that no claim has.
    pub(super) fn holder_without_claim(&self, id: &PartitionId) -> IpuHolder {
        let found = self.pool.as_ref().and_then(|pool| Some((pool, pool.get(id)?)));
        found.map_or(IpuHolder::Unknown, |(pool, (it, _))| pool.holder_without_claim(it))
    }

    /// Gives a partition of the pool to no job for a while after the time of a fault.
    pub(crate) fn put_aside(&mut self, now: Millis, since: Millis, id: &PartitionId) {
        let is_over = now.0 >= since.0 + PUT_ASIDE;
        if let Some(pool) = self.pool.as_mut().filter(|pool| !is_over && pool.get(id).is_some()) {
            pool.put_aside.insert(id.clone(), since);
        }
    }

    /// Whether a partition of the pool is given to no job for a while.
    pub(crate) fn is_put_aside(&self, id: &PartitionId) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.put_aside.contains_key(id))
    }

    /// Gives a partition of the pool to jobs again. Returns whether it was put aside.
    pub(crate) fn end_put_aside(&mut self, id: &PartitionId) -> bool {
        let was_aside = self.pool.as_mut().is_some_and(|pool| pool.put_aside.remove(id).is_some());
        let without_claim = self.holder_without_claim(id);
        let listed =
            self.listed.get_mut(id).filter(|listed| was_aside && listed.holder == IpuHolder::Unknown);
        if let Some(listed) = listed {
            listed.holder = without_claim;
            self.recount();
        }
        was_aside
    }

    /// The free partitions of the pool.
    pub(crate) fn free_in_pool(&self) -> impl Iterator<Item = &(PoolPartition, Range<usize>)> {
        let all = self.pool.iter().flat_map(|pool| &pool.partitions);
        all.filter(|(_, ipus)| self.free_blocks.is_free(ipus.start))
    }

    /// The partitions of the pool, in the order of the layout.
    pub(crate) fn pool_partitions(&self) -> impl Iterator<Item = &PoolPartition> {
        self.pool.iter().flat_map(|pool| &pool.partitions).map(|(it, _)| it)
    }

    /// The partitions of the pool that the controller should have and has not, with the reasons.
    pub(crate) fn missing_in_pool(&self) -> BTreeMap<PartitionId, String> {
        self.pool.as_ref().map(|pool| pool.missing.clone()).unwrap_or_default()
    }

    /// The blocks of the partitions of the pool.
    pub(crate) fn pool_blocks(&self) -> impl Iterator<Item = PoolBlock> {
        self.pool_partitions().map(|it| it.block)
    }

    /// The state of a partition of the pool that no claim has.
    pub(crate) fn state_without_claim(&self, it: &PoolPartition) -> PoolMemberState {
        let SeenPartition { partition, fault, leaving, .. } = &it.seen;
        match fault {
            Some(fault) => PoolMemberState::OutOfUse(fault.clone()),
            None if *leaving => PoolMemberState::OutOfUse("somebody is removing it".to_owned()),
            None if self.is_put_aside(partition) => PoolMemberState::OutOfUse(
                "it could not be given to a job, or processes of its last job may be left".to_owned(),
            ),
            None if !it.is_ready => PoolMemberState::Returning,
            None => PoolMemberState::Free,
        }
    }
}
