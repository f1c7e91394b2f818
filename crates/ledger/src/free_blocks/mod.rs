//! The blocks of IPUs that partitions can have on a Pod, and those of them that are free.
//!
//! `layout.rs` has all blocks, `buddies.rs` the free ones of IPU-Link domains, and `free_partitions.rs` the free
//! partitions of a pool.

mod buddies;
mod free_partitions;
mod layout;

use std::ops::Range;

use vipu_types::{IpuCount, Place};

use buddies::Buddies;
use free_partitions::FreePartitions;
pub use layout::{Layout, PoolBlock};

/// The free blocks of one Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FreeBlocks {
    /// Those of IPU-Link domains.
    Aligned(Buddies),
    /// Those of a pool.
    Pool(FreePartitions),
}

impl FreeBlocks {
    /// A Pod of `ipus` IPUs, with the IPUs at `taken` taken.
    pub(crate) fn new(ipus: u32, layout: &Layout, taken: impl IntoIterator<Item = Place>) -> Self {
        let domain = layout.domain(ipus);
        match layout.pool() {
            None => Self::Aligned(Buddies::new(ipus, domain, taken)),
            Some(blocks) => {
                let taken = taken.into_iter().filter_map(|place| place.number(domain));
                Self::Pool(FreePartitions::new(blocks, taken))
            }
        }
    }

    /// The number of free IPUs.
    pub(crate) fn free(&self) -> u32 {
        match self {
            Self::Aligned(blocks) => blocks.free(),
            Self::Pool(partitions) => partitions.free(),
        }
    }

    /// The size of the largest partition that fits. 0 if none fits.
    pub(crate) fn largest(&self) -> u32 {
        match self {
            Self::Aligned(blocks) => blocks.largest(),
            Self::Pool(partitions) => partitions.largest(),
        }
    }

    /// Whether a job of this size gets a partition.
    pub(crate) fn has_room_for(&self, size: IpuCount) -> bool {
        match self {
            Self::Aligned(blocks) => size.get() <= blocks.largest(),
            Self::Pool(partitions) => partitions.first_for(size).is_some(),
        }
    }

    /// Whether this IPU is free.
    pub(crate) fn is_free(&self, ipu: usize) -> bool {
        // Only a pool needs the answer.
        matches!(self, Self::Pool(partitions) if partitions.has(ipu))
    }

    /// Takes the IPUs of a partition of unknown place. `taken` is called with them.
    pub(crate) fn take(&mut self, size: IpuCount, taken: &mut impl FnMut(Range<usize>)) {
        match self {
            Self::Aligned(blocks) => blocks.take(size, taken),
            Self::Pool(partitions) => partitions.take(size, taken),
        }
    }

    /// Takes this number of single IPUs. A pool has none without a partition.
    pub(crate) fn take_each(&mut self, ipus: u32, taken: &mut impl FnMut(Range<usize>)) {
        if let Self::Aligned(blocks) = self {
            blocks.take_each(ipus, taken);
        }
    }

    /// Takes this IPU if it is free, and returns whether it was. In a pool, this takes its partition.
    pub(crate) fn take_ipu(&mut self, ipu: usize) -> bool {
        match self {
            Self::Aligned(blocks) => blocks.take_ipu(ipu),
            Self::Pool(partitions) => partitions.take_ipu(ipu),
        }
    }

    /// The first IPU of the lowest block for a partition of this size. None if it does not fit.
    pub(crate) fn first_for(&self, size: IpuCount) -> Option<usize> {
        match self {
            Self::Aligned(blocks) => blocks.first_for(size),
            Self::Pool(partitions) => partitions.first_for(size),
        }
    }
}

#[cfg(test)]
mod tests;
