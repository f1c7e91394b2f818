//! The times at which the blocks of a Pod become free.

use std::ops::Range;

use crate::Seconds;

/// The time of a free block.
pub(crate) const FREE: Seconds = Seconds(i64::MIN);

/// The time of a block without a known end: used by a stranger, broken, or missing.
pub(crate) const NEVER: Seconds = Seconds(i64::MAX);

/// The times at which the present holders of blocks will be gone, for all aligned blocks up to a domain.
#[derive(Clone, Debug)]
pub(crate) struct BlockTimes {
    /// IPUs in one IPU-Link domain, a power of two.
    domain: usize,
    /// The times by level, from single IPUs to domains. Each level covers whole domains. IPUs that the last
    /// domain lacks are never free.
    free_at: Vec<Vec<Seconds>>,
    /// The first time at which a block is free in each domain, by level.
    soonest: Vec<Vec<Seconds>>,
}

impl BlockTimes {
    /// The times of a Pod with these IPUs taken until these times.
    pub(crate) fn new(
        ipus: usize,
        domain: usize,
        taken: impl IntoIterator<Item = (Range<usize>, Seconds)>,
    ) -> Self {
        let mut singles = vec![FREE; ipus.next_multiple_of(domain)];
        singles[ipus..].fill(NEVER);
        for (ipus, until) in taken {
            singles[ipus].iter_mut().for_each(|free_at| *free_at = until.max(*free_at));
        }
        let mut free_at = vec![singles];
        for level in 0..domain.ilog2() as usize {
            free_at.push(free_at[level].chunks_exact(2).map(|pair| pair[0].max(pair[1])).collect());
        }
        let soonest = free_at.iter().enumerate().map(|(level, blocks)| {
            let of_domain = |blocks: &[Seconds]| blocks.iter().copied().min().unwrap_or(NEVER);
            blocks.chunks_exact(domain >> level).map(of_domain).collect()
        });
        Self { domain, soonest: soonest.collect(), free_at }
    }

    /// IPUs in one IPU-Link domain.
    pub(crate) fn domain(&self) -> usize {
        self.domain
    }

    /// The number of all IPUs, with those that the last domain lacks.
    pub(crate) fn ipus(&self) -> usize {
        self.free_at[0].len()
    }

    /// The time at which the present holders of this block will be gone.
    pub(crate) fn free_at(&self, block: &Range<usize>) -> Seconds {
        let level = block.len().ilog2();
        self.free_at[level as usize][block.start >> level]
    }

    /// The first time at which a block of this size is free in the domain.
    pub(crate) fn soonest(&self, domain: &Range<usize>, size: usize) -> Seconds {
        self.soonest[size.ilog2() as usize][domain.start / self.domain]
    }

    #[cfg(test)]
    /// Takes these IPUs until this time.
    pub(crate) fn occupy(&mut self, ipus: Range<usize>, until: Seconds) {
        let singles = self.free_at[0].iter().copied().enumerate();
        let taken: Vec<_> = singles.map(|(n, until)| (n..n + 1, until)).chain([(ipus, until)]).collect();
        *self = Self::new(self.ipus(), self.domain, taken);
    }
}
