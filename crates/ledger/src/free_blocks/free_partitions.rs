//! The free partitions of a pool.

use std::ops::Range;

use vipu_types::IpuCount;

use crate::PoolBlock;

/// The partitions of a pool that are free, in the order of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FreePartitions(Vec<(PoolBlock, Range<usize>)>);

impl FreePartitions {
    /// A pool with these IPUs taken.
    pub(crate) fn new(
        blocks: impl Iterator<Item = (PoolBlock, Range<usize>)>,
        taken: impl Iterator<Item = usize>,
    ) -> Self {
        let mut free = Self(blocks.collect());
        for ipu in taken {
            free.take_ipu(ipu);
        }
        free
    }

    pub(crate) fn free(&self) -> u32 {
        self.0.iter().map(|(block, _)| block.size.get()).sum()
    }

    pub(crate) fn largest(&self) -> u32 {
        self.0.iter().map(|(block, _)| block.size.get()).max().unwrap_or(0)
    }

    /// Whether this IPU is free.
    pub(crate) fn has(&self, ipu: usize) -> bool {
        self.0.iter().any(|(_, ipus)| ipus.contains(&ipu))
    }

    /// The first IPU of the smallest partition that serves a job of this size.
    pub(crate) fn first_for(&self, size: IpuCount) -> Option<usize> {
        let serving = self.0.iter().filter(|(block, _)| block.serves(size));
        Some(serving.min_by_key(|(block, _)| block.size)?.1.start)
    }

    /// Takes the smallest partition that serves a job of this size.
    pub(crate) fn take(&mut self, size: IpuCount, taken: &mut impl FnMut(Range<usize>)) {
        if let Some(first) = self.first_for(size) {
            self.0.extract_if(.., |(_, ipus)| ipus.start == first).for_each(|(_, ipus)| taken(ipus));
        }
    }

    /// Takes the partition with this IPU, and returns whether it was free.
    pub(crate) fn take_ipu(&mut self, ipu: usize) -> bool {
        let before = self.0.len();
        self.0.retain(|(_, ipus)| !ipus.contains(&ipu));
        self.0.len() < before
    }
}
