//! The free partitions of a pool.

use std::ops::Range;

use vipu_types::IpuCount;

use super::layout::PoolBlock;

/// The partitions of a pool in its order, and which of them are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FreePartitions {
    all: Vec<(PoolBlock, Range<usize>)>,
    taken: Vec<bool>,
}

impl FreePartitions {
    /// A pool with these IPUs taken.
    pub(crate) fn new(
        blocks: impl Iterator<Item = (PoolBlock, Range<usize>)>,
        taken: impl Iterator<Item = usize>,
    ) -> Self {
        let all: Vec<_> = blocks.collect();
        let mut free = Self { taken: vec![false; all.len()], all };
        for ipu in taken {
            free.take_ipu(ipu);
        }
        free
    }

    pub(crate) fn free(&self) -> u32 {
        self.untaken().map(|(block, _)| block.size.get()).sum()
    }

    pub(crate) fn largest(&self) -> u32 {
        self.untaken().map(|(block, _)| block.size.get()).max().unwrap_or(0)
    }

    fn untaken(&self) -> impl Iterator<Item = &(PoolBlock, Range<usize>)> {
        self.all.iter().zip(&self.taken).filter(|(_, is_taken)| !**is_taken).map(|(partition, _)| partition)
    }

    /// Whether this IPU is free.
    pub(crate) fn has(&self, ipu: usize) -> bool {
        self.taken.get(self.number(ipu)).is_some_and(|is_taken| !is_taken)
    }

    /// The number of the partition with this IPU. The partitions follow each other without a gap.
    fn number(&self, ipu: usize) -> usize {
        self.all.partition_point(|(_, ipus)| ipus.end <= ipu)
    }

    /// The first IPU of the smallest partition that serves a job of this size.
    pub(crate) fn first_for(&self, size: IpuCount) -> Option<usize> {
        let serving = self.untaken().filter(|(block, _)| block.serves(size));
        Some(serving.min_by_key(|(block, _)| block.size)?.1.start)
    }

    /// Takes the smallest partition that serves a job of this size.
    pub(crate) fn take(&mut self, size: IpuCount, taken: &mut impl FnMut(Range<usize>)) {
        let Some(first) = self.first_for(size) else { return };
        self.take_ipu(first);
        taken(self.all[self.number(first)].1.clone());
    }

    /// Takes the partition with this IPU, and returns whether it was free.
    pub(crate) fn take_ipu(&mut self, ipu: usize) -> bool {
        let number = self.number(ipu);
        self.taken.get_mut(number).is_some_and(|is_taken| !std::mem::replace(is_taken, true))
    }
}
