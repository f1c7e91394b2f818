//! The blocks of IPUs that partitions can have on a Pod.

use std::ops::Range;
use std::sync::Arc;

use vipu_types::IpuCount;

/// The blocks of IPUs that partitions can have on a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Aligned blocks in IPU-Link domains of this size, and several whole domains.
    Domains(IpuCount),
    /// The partitions of a pool, the largest first. The IPUs are numbered in this order, so that each block is
    /// aligned.
    Pool(Arc<[PoolBlock]>),
}

/// The IPUs of one partition of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolBlock {
    /// Their number.
    pub size: IpuCount,
    /// Whether a program may use a part of them.
    pub is_reconfigurable: bool,
}

impl PoolBlock {
    /// Whether a job that asked for this number of IPUs can use the partition.
    pub fn serves(self, size: IpuCount) -> bool {
        size == self.size || (self.is_reconfigurable && size < self.size)
    }
}

impl From<IpuCount> for Layout {
    fn from(domain_size: IpuCount) -> Self {
        Self::Domains(domain_size)
    }
}

impl Layout {
    /// IPUs in one domain of a Pod with this number of IPUs. A small Pod has less than one domain. A pool has
    /// domains that are as large as its largest partition.
    pub fn domain(&self, ipus: u32) -> u32 {
        match self {
            Self::Domains(size) => size.get().min(ipus.next_power_of_two()),
            Self::Pool(blocks) => blocks.first().map_or(1, |largest| largest.size.get()),
        }
    }

    /// The blocks of a pool with their IPUs. None if this is no pool.
    pub(crate) fn pool(&self) -> Option<impl Iterator<Item = (PoolBlock, Range<usize>)>> {
        let Self::Pool(blocks) = self else { return None };
        let mut next = 0;
        Some(blocks.iter().map(move |block| {
            let first = next;
            next += block.size.get() as usize;
            (*block, first..next)
        }))
    }

    /// The blocks of a pool that serve a job of this size, the smallest first. None if this is no pool.
    pub(crate) fn serving(&self, size: IpuCount) -> Option<Vec<Range<usize>>> {
        let mut blocks: Vec<_> =
            self.pool()?.filter(|(block, _)| block.serves(size)).map(|(_, ipus)| ipus).collect();
        blocks.sort_by_key(Range::len);
        Some(blocks)
    }
}
