//! Where partitions go: aligned power-of-two blocks of IPUs.
//!
//! A block of at most a domain is aligned and so lies inside one, a larger one is whole domains;
//! of four IPUs or more, a block is whole machines.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How a block is chosen among those that fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The lowest one.
    #[default]
    Lowest,
    /// Far from the others, so that free IPUs soon lie in small pieces.
    Scatter,
}

/// Consecutive IPUs: `size` of them, a power of two, from a multiple of it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) size: u32,
}

impl Block {
    pub(crate) fn ipus(self) -> Range<u32> {
        self.first..self.first + self.size
    }
}

/// A set of IPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IpuSet {
    words: Vec<u64>,
}

impl IpuSet {
    /// None of `ipus` IPUs.
    pub(crate) fn none(ipus: u32) -> Self {
        Self { words: vec![0; ipus.div_ceil(64) as usize] }
    }

    /// Those of `ipus` IPUs in `range`.
    pub(crate) fn of(ipus: u32, range: Range<u32>) -> Self {
        let mut set = Self::none(ipus);
        range.for_each(|ipu| set.words[ipu as usize / 64] |= 1 << (ipu % 64));
        set
    }

    pub(crate) fn insert(&mut self, block: Block) {
        self.for_each_part(block, |word, part| *word |= part);
    }

    pub(crate) fn remove(&mut self, block: Block) {
        self.for_each_part(block, |word, part| *word &= !part);
    }

    pub(crate) fn contains(&self, block: Block) -> bool {
        parts(block).all(|(at, part)| self.words.get(at).is_some_and(|word| word & part == part))
    }

    pub(crate) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// A block of `size` IPUs that are all in the set.
    pub(crate) fn find(&self, size: u32, placement: Placement) -> Option<Block> {
        let first = match placement {
            Placement::Lowest if size < 64 => self.lowest_within_words(size),
            Placement::Lowest => self.in_order(size, 0..self.blocks(size)),
            Placement::Scatter => self.in_order(size, scattered(self.blocks(size))),
        };
        first.map(|first| Block { first, size })
    }

    /// How many blocks of `size` there could be.
    fn blocks(&self, size: u32) -> u32 {
        u32::try_from(self.words.len() * 64).unwrap_or(u32::MAX) / size
    }

    fn in_order(&self, size: u32, blocks: impl Iterator<Item = u32>) -> Option<u32> {
        blocks.map(|block| block * size).find(|&first| self.contains(Block { first, size }))
    }

    /// Halving runs: after folding, a bit says that the `size` bits from it on are all set.
    fn lowest_within_words(&self, size: u32) -> Option<u32> {
        let aligned = (0..64).step_by(size as usize).fold(0_u64, |mask, bit| mask | 1 << bit);
        (0_u32..).zip(&self.words).find_map(|(at, &word)| {
            let run = (0..size.trailing_zeros()).fold(word, |run, half| run & (run >> (1 << half)));
            let starts = run & aligned;
            (starts != 0).then(|| at * 64 + starts.trailing_zeros())
        })
    }

    fn for_each_part(&mut self, block: Block, change: impl Fn(&mut u64, u64)) {
        for (at, part) in parts(block) {
            if let Some(word) = self.words.get_mut(at) {
                change(word, part);
            }
        }
    }
}

/// The words a block touches and its bits in them; all of a word, or part of one.
fn parts(block: Block) -> impl Iterator<Item = (usize, u64)> {
    let at = block.first as usize / 64;
    let bits = if block.size >= 64 { u64::MAX } else { ((1 << block.size) - 1) << (block.first % 64) };
    (at..at + block.size.div_ceil(64) as usize).map(move |at| (at, bits))
}

/// `0..blocks` such that each comes far from those before it: counting with the bits reversed.
fn scattered(blocks: u32) -> impl Iterator<Item = u32> {
    let width = blocks.next_power_of_two().trailing_zeros();
    (0..1_u32 << width)
        .map(move |i| i.reverse_bits().checked_shr(32 - width).unwrap_or(0))
        .filter(move |&block| block < blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        /// Both searches against the plain definition of a block.
        #[test]
        fn a_block_is_found_exactly_when_there_is_one(
            members in proptest::collection::btree_set(0_u32..256, 0..256),
            power in 0_u32..=8,
        ) {
            let size = 1 << power;
            let mut set = IpuSet::none(256);
            members.iter().for_each(|&first| set.insert(Block { first, size: 1 }));
            prop_assert_eq!(set.len() as usize, members.len());
            let fits = |first: &u32| (*first..first + size).all(|ipu| members.contains(&ipu));
            let expected = (0..256).step_by(size as usize).find(fits);
            prop_assert_eq!(set.find(size, Placement::Lowest).map(|block| block.first), expected);
            let scattered = set.find(size, Placement::Scatter);
            prop_assert_eq!(scattered.is_some(), expected.is_some());
            prop_assert!(scattered.is_none_or(|block| fits(&block.first) && block.first % size == 0));
        }
    }
}
