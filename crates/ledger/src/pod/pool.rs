//! The pool of a Pod: partitions that exist before the jobs and stay after them.
//!
//! Only the IPUs of these partitions count. They are numbered in the order of the [`Layout`], and a job has all IPUs
//! of a partition.

use std::collections::BTreeMap;
use std::ops::Range;

use vipu_types::{PartitionId, Place, Words};

use super::{Hardware, Listed, Pod};
use crate::ipu_holders::IpuHolder;
use crate::{Layout, PoolBlock, PoolPartition, SeenPartition};

/// A partition of a pool, with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolMember {
    /// Its id.
    pub partition: PartitionId,
    /// Its IPUs.
    pub block: PoolBlock,
    /// Its state.
    pub state: PoolMemberState,
}

/// The state of a partition of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolMemberState {
    /// It waits for a job.
    Free,
    /// A job has it, or is about to get it.
    Used,
    /// It is being given back after a job, or being reset.
    Returning,
    /// No job gets it, for this reason.
    OutOfUse(Words),
}

/// The partitions of a pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodPool {
    /// The partitions of the last listing, in the order of the layout, each with its IPUs.
    partitions: Vec<(PoolPartition, Range<usize>)>,
    /// Those of a listing that has just arrived.
    news: Vec<PoolPartition>,
    /// The partitions that the controller should have and has not, with the reasons.
    missing: BTreeMap<PartitionId, Words>,
}

impl PodPool {
    /// Takes the partitions that were noted last. Returns their layout.
    fn take_news(&mut self) -> Layout {
        let mut news = std::mem::take(&mut self.news);
        news.sort_by(|one, other| {
            let by_name = one.seen.partition.cmp(&other.seen.partition);
            other.block.size.cmp(&one.block.size).then(by_name)
        });
        let layout = Layout::Pool(news.iter().map(|partition| partition.block).collect());
        let ipus = layout.pool().into_iter().flatten().map(|(_, ipus)| ipus);
        self.partitions = news.into_iter().zip(ipus).collect();
        layout
    }

    fn get(&self, id: &PartitionId) -> Option<&(PoolPartition, Range<usize>)> {
        self.partitions.iter().find(|(it, _)| it.seen.partition == *id)
    }

    /// The numbers of the IPUs of a partition.
    pub(super) fn ipus_of(&self, id: &PartitionId) -> Option<Range<usize>> {
        self.get(id).map(|(_, ipus)| ipus.clone())
    }
}

/// The holder of the IPUs of a partition that no claim has and that is not withheld.
fn holder_without_claim(it: &PoolPartition) -> IpuHolder {
    match it.seen.fault.is_none() && !it.seen.leaving && it.is_ready {
        true => IpuHolder::Unused,
        false => IpuHolder::Unknown,
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
        missing: BTreeMap<PartitionId, Words>,
    ) {
        if let Some(pool) = &mut self.pool {
            (pool.news, pool.missing) = (partitions, missing);
        }
    }

    /// Takes the noted partitions as the listing of a pool.
    pub(super) fn list_pool(&mut self, holder: impl Fn(&PartitionId) -> Option<IpuHolder>) {
        let Some(pool) = &mut self.pool else { return };
        self.layout = pool.take_news();
        let ipus = pool.partitions.last().map_or(0, |(_, ipus)| ipus.end as u32);
        let domain = self.layout.domain(ipus);
        let listed = pool.partitions.iter().map(|(it, ipus)| {
            let id = &it.seen.partition;
            let places = ipus.clone().map(|ipu| Place::numbered(ipu, domain)).collect();
            let holder = holder(id).unwrap_or_else(|| holder_without_claim(it));
            (id.clone(), Listed { places, holder })
        });
        self.listed = listed.collect();
        self.hardware = Hardware { ipus, faulty: 0 };
    }

    /// Gives a partition of the pool that no claim has to jobs, or to none for a while.
    pub(crate) fn set_withheld(&mut self, id: &PartitionId, is_withheld: bool) {
        let Some(it) = self.in_pool(id) else { return };
        let holder = if is_withheld { IpuHolder::Unknown } else { holder_without_claim(it) };
        if let Some(listed) = self.listed.get_mut(id) {
            listed.holder = holder;
            self.recount();
        }
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
    pub(crate) fn missing_in_pool(&self) -> BTreeMap<PartitionId, Words> {
        self.pool.as_ref().map(|pool| pool.missing.clone()).unwrap_or_default()
    }

    /// The state of a partition of the pool that no claim has.
    pub(crate) fn state_without_claim(&self, it: &PoolPartition, is_withheld: bool) -> PoolMemberState {
        let SeenPartition { fault, leaving, .. } = &it.seen;
        match fault {
            Some(fault) => PoolMemberState::OutOfUse(fault.clone()),
            None if *leaving => PoolMemberState::OutOfUse("somebody is removing it".into()),
            None if is_withheld => PoolMemberState::OutOfUse(
                "it could not be given to a job, or processes of its last job may be left".into(),
            ),
            None if !it.is_ready => PoolMemberState::Returning,
            None => PoolMemberState::Free,
        }
    }
}
