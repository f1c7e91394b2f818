//! The places of partitions: aligned power-of-two blocks of IPUs.
//!
//! Alignment puts a block of up to a domain inside one domain. A larger block is whole domains. A block of
//! four IPUs or more is whole machines.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The choice among the blocks that fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Placement {
    /// The lowest block.
    #[default]
    Lowest,
    /// A block far from the others, so that free IPUs are soon in small pieces.
    Scatter,
}

/// Consecutive IPUs. `size` is a power of two, and `first` is a multiple of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) size: u32,
}

impl Block {
    pub(crate) fn ipus(self) -> Range<u32> {
        self.first..self.first + self.size
    }

    fn indices(self) -> Range<usize> {
        self.first as usize..(self.first + self.size) as usize
    }
}

/// A set of IPUs, with a flag for each IPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IpuSet(Vec<bool>);

impl IpuSet {
    /// Returns the IPUs of `range`, out of `ipus` IPUs.
    pub(crate) fn of(ipus: u32, range: Range<u32>) -> Self {
        Self((0..ipus).map(|ipu| range.contains(&ipu)).collect())
    }

    pub(crate) fn insert(&mut self, block: Block) {
        self.0[block.indices()].fill(true);
    }

    pub(crate) fn remove(&mut self, block: Block) {
        self.0[block.indices()].fill(false);
    }

    pub(crate) fn contains(&self, block: Block) -> bool {
        self.0.get(block.indices()).is_some_and(|part| part.iter().all(|is_in| *is_in))
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.iter().map(|is_in| u32::from(*is_in)).sum()
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| *a && *b).collect())
    }

    /// Returns a block of `size` IPUs that are all in the set.
    pub(crate) fn find(&self, size: u32, placement: Placement) -> Option<Block> {
        let blocks = u32::try_from(self.0.len()).unwrap_or(u32::MAX) / size;
        let block = |number| Block { first: number * size, size };
        match placement {
            Placement::Lowest => (0..blocks).map(block).find(|block| self.contains(*block)),
            Placement::Scatter => scattered(blocks).map(block).find(|block| self.contains(*block)),
        }
    }
}

/// Returns `0..blocks` in an order of bit-reversed counting, so that each is far from the ones before.
fn scattered(blocks: u32) -> impl Iterator<Item = u32> {
    let width = blocks.next_power_of_two().trailing_zeros();
    (0..1_u32 << width)
        .map(move |i| i.reverse_bits().checked_shr(32 - width).unwrap_or(0))
        .filter(move |&block| block < blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_takes_the_first_gap_that_fits() {
        let mut set = IpuSet::of(128, 0..128);
        set.remove(Block { first: 0, size: 1 });
        let lowest = |size| set.find(size, Placement::Lowest).map(|block| block.first);
        assert_eq!([1, 2, 4, 32, 64].map(lowest), [Some(1), Some(2), Some(4), Some(32), Some(64)]);
        assert_eq!(lowest(128), None);
    }

    #[test]
    fn scatter_spreads() {
        let mut set = IpuSet::of(64, 0..64);
        let mut starts = Vec::new();
        while let Some(block) = set.find(16, Placement::Scatter) {
            set.remove(block);
            starts.push(block.first);
        }
        assert_eq!(starts, [0, 32, 16, 48]);
        let mut order: Vec<_> = scattered(11).collect();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..11), "every block comes once, whatever their number");
    }
}
