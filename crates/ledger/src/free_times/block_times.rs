//! The times at which the blocks of a Pod become free.

use std::ops::Range;

use crate::Seconds;

/// The time of a free block.
pub(crate) const FREE: Seconds = Seconds(i64::MIN);

/// The time of a block without a known end: used by a stranger, broken, or missing.
pub(crate) const NEVER: Seconds = Seconds(i64::MAX);

/// The times at which the present holders of blocks will be gone, for all aligned blocks up to the whole Pod.
#[derive(Clone, Debug)]
pub(crate) struct BlockTimes {
    /// IPUs in one IPU-Link domain, a power of two.
    domain: usize,
    /// The number of IPUs in whole domains. IPUs that the last domain lacks are never free.
    ipus: usize,
    /// The times of the blocks by level, from single IPUs to one block of all IPUs. The last blocks of a level may have
    /// more IPUs than the Pod.
    levels: Vec<Vec<Times>>,
}

/// The times of one block.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// The time at which its first IPU is free.
    first: Seconds,
    /// The time at which its last IPU is free, and with it the block.
    last: Seconds,
}

impl Times {
    fn at(time: Seconds) -> Self {
        Self { first: time, last: time }
    }

    fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

impl BlockTimes {
    /// The times of a Pod with these IPUs taken until these times.
    pub(crate) fn new(
        ipus: usize,
        domain: usize,
        taken: impl IntoIterator<Item = (Range<usize>, Seconds)>,
    ) -> Self {
        let whole = ipus.next_multiple_of(domain);
        let mut singles = vec![Times::at(FREE); ipus];
        singles.resize(whole.next_power_of_two(), Times::at(NEVER));
        for (ipus, until) in taken {
            singles[ipus].iter_mut().for_each(|it| *it = Times::at(until.max(it.last)));
        }
        let mut levels = vec![singles];
        while let Some(blocks) = levels.last().filter(|blocks| blocks.len() > 1) {
            levels.push(blocks.chunks_exact(2).map(|pair| pair[0].with(pair[1])).collect());
        }
        Self { domain, ipus: whole, levels }
    }

    /// IPUs in one IPU-Link domain.
    pub(crate) fn domain(&self) -> usize {
        self.domain
    }

    /// The number of all IPUs, with those that the last domain lacks.
    pub(crate) fn ipus(&self) -> usize {
        self.ipus
    }

    /// The smallest aligned block with all IPUs.
    pub(crate) fn whole(&self) -> Range<usize> {
        0..self.levels[0].len()
    }

    /// The time at which the present holders of an aligned block will be gone.
    pub(crate) fn free_at(&self, block: &Range<usize>) -> Seconds {
        self.times(block).last
    }

    /// The time at which the first IPU of an aligned block is free.
    pub(crate) fn first_free_at(&self, block: &Range<usize>) -> Seconds {
        self.times(block).first
    }

    /// Whether all IPUs of an aligned block become free at one time, if times before `from` count as `from`.
    pub(crate) fn is_even(&self, block: &Range<usize>, from: Seconds) -> bool {
        let Times { first, last } = self.times(block);
        first.max(from) == last.max(from)
    }

    fn times(&self, block: &Range<usize>) -> Times {
        let level = block.len().ilog2();
        self.levels[level as usize][block.start >> level]
    }

    #[cfg(test)]
    /// Takes these IPUs until this time.
    pub(crate) fn occupy(&mut self, ipus: Range<usize>, until: Seconds) {
        let singles = self.levels[0][..self.ipus].iter().enumerate();
        let taken: Vec<_> = singles.map(|(n, it)| (n..n + 1, it.last)).chain([(ipus, until)]).collect();
        *self = Self::new(self.ipus, self.domain, taken);
    }
}

/// The halves of an aligned block.
pub(super) fn halves(block: &Range<usize>) -> [Range<usize>; 2] {
    #[cfg(test)]
    tests::HALVED.with(|halved| halved.set(halved.get() + 1));
    let middle = block.start.midpoint(block.end);
    [block.start..middle, middle..block.end]
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    std::thread_local! {
        /// The number of blocks that were halved.
        pub static HALVED: Cell<u32> = const { Cell::new(0) };
    }
}
