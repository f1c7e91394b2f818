//! Which blocks of a Pod are free.
//!
//! A partition of up to one IPU-Link domain is an aligned block of a power of two of IPUs inside
//! that domain; a larger one is as many whole domains. So what fits is a question of blocks, and a
//! buddy tree answers it: each node knows the largest free block below it, the root knows it of
//! the whole Pod. The last domain may be partial; the IPUs it lacks count as taken.

use std::ops::Range;

use vipu_types::{IpuCount, Place};

/// IPUs in one IPU-Link domain of a Pod: a small Pod has less than one.
pub(crate) fn usable_domain(ipus: u32, domain_size: IpuCount) -> u32 {
    domain_size.get().min(ipus.next_power_of_two())
}

/// The free blocks of one Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FreeBlocks {
    /// The IPU-Link domain as a power of two.
    domain_order: u32,
    /// The binary tree, root at 1, the IPUs as its leaves: 0 when nothing below is free, else
    /// one more than the order of the largest free aligned block below.
    best: Vec<u8>,
    /// IPUs not taken.
    free: u32,
    /// Domains without a taken IPU.
    free_domains: u32,
}

impl FreeBlocks {
    /// A Pod of `ipus` IPUs in domains of `domain_size`, with the IPUs at `taken` taken.
    ///
    /// A place that is taken twice, or that this Pod does not have, still is an IPU that somebody
    /// uses: one IPU is taken for it wherever [`FreeBlocks::take`] puts it.
    pub(crate) fn new(ipus: u32, domain_size: IpuCount, taken: impl IntoIterator<Item = Place>) -> Self {
        let domain = usable_domain(ipus, domain_size);
        let leaves = (ipus.div_ceil(domain).next_power_of_two() * domain) as usize;
        let mut blocks =
            Self { domain_order: domain.ilog2(), best: vec![0; 2 * leaves], free: ipus, free_domains: 0 };
        let ipus = ipus as usize;
        blocks.best[leaves..leaves + ipus].fill(1);
        let mut homeless = 0;
        for place in taken {
            let leaf = place.number(domain).filter(|leaf| *leaf < ipus && blocks.best[leaves + leaf] == 1);
            match leaf {
                Some(leaf) => {
                    blocks.best[leaves + leaf] = 0;
                    blocks.free -= 1;
                }
                None => homeless += 1,
            }
        }
        blocks.summarize(leaves);
        blocks.take_each(homeless, &mut |_| {});
        blocks
    }

    /// Computes all nodes above the leaves.
    fn summarize(&mut self, leaves: usize) {
        let (mut width, mut height) = (leaves, 0);
        while width > 1 {
            (width, height) = (width / 2, height + 1);
            for node in width..2 * width {
                self.best[node] = self.merged(node, height);
            }
        }
        let domains = leaves >> self.domain_order;
        let whole = self.whole_domain();
        self.free_domains =
            self.best[domains..2 * domains].iter().map(|best| u32::from(*best == whole)).sum();
    }

    /// What a node at `height` says, given its children.
    fn merged(&self, node: usize, height: u32) -> u8 {
        let (left, right) = (self.best[2 * node], self.best[2 * node + 1]);
        let buddies_free = u32::from(left) == height && u32::from(right) == height;
        if buddies_free && height <= self.domain_order { left + 1 } else { left.max(right) }
    }

    /// What the node of a domain without a taken IPU says.
    fn whole_domain(&self) -> u8 {
        self.domain_order as u8 + 1
    }

    /// IPUs not taken.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// The size of the largest partition that fits; 0 when none does.
    pub(crate) fn largest(&self) -> u32 {
        match self.best[1] {
            0 => 0,
            best if best == self.whole_domain() => 1 << (self.domain_order + self.free_domains.ilog2()),
            best => 1 << (best - 1),
        }
    }

    /// Takes the IPUs of a partition whose place nobody told: the lowest free block or domains. `taken` is
    /// told which.
    ///
    /// When there is no such block, it takes smaller ones: the partition exists, so IPUs are used
    /// whatever the forecast says of their places.
    pub(crate) fn take(&mut self, size: IpuCount, taken: &mut impl FnMut(Range<usize>)) {
        let order = size.get().ilog2().min(self.domain_order);
        for _ in 0..size.get() >> order {
            if self.free == 0 {
                return;
            }
            self.take_block(order, taken);
        }
    }

    /// Takes that many single IPUs.
    pub(crate) fn take_each(&mut self, ipus: u32, taken: &mut impl FnMut(Range<usize>)) {
        for _ in 0..ipus.min(self.free) {
            self.take_block(0, taken);
        }
    }

    /// Takes this IPU if it is free; whether it was. Not for one of a block that was taken as a whole.
    pub(crate) fn take_ipu(&mut self, ipu: usize) -> bool {
        let leaf = self.best.len() / 2 + ipu;
        let is_free = self.best.get(leaf) == Some(&1);
        if is_free {
            self.occupy(leaf, 0);
        }
        is_free
    }

    /// The first IPU of the lowest block that a partition of this size could be made of; none when it does
    /// not fit.
    pub(crate) fn first_for(&self, size: IpuCount) -> Option<usize> {
        let order = size.get().ilog2().min(self.domain_order);
        let node = self.lowest(order).filter(|_| size.get() <= self.largest())?;
        Some((node << order) - self.best.len() / 2)
    }

    fn take_block(&mut self, order: u32, taken: &mut impl FnMut(Range<usize>)) {
        match self.lowest(order) {
            Some(node) => {
                self.occupy(node, order);
                let first = (node << order) - self.best.len() / 2;
                taken(first..first + (1 << order));
            }
            None if order > 0 => {
                self.take_block(order - 1, taken);
                self.take_block(order - 1, taken);
            }
            None => {}
        }
    }

    /// The node of the free block of this order with the lowest address.
    fn lowest(&self, order: u32) -> Option<usize> {
        let fits = |node: usize| u32::from(self.best[node]) > order;
        if !fits(1) {
            return None;
        }
        let (mut node, mut height) = (1, (self.best.len() / 2).ilog2());
        while height > order {
            node = if fits(2 * node) { 2 * node } else { 2 * node + 1 };
            height -= 1;
        }
        Some(node)
    }

    /// Takes a free block. What is below its node stays as it is: nobody looks there any more.
    fn occupy(&mut self, node: usize, order: u32) {
        if self.best[node >> (self.domain_order - order)] == self.whole_domain() {
            self.free_domains -= 1;
        }
        self.free -= 1 << order;
        self.best[node] = 0;
        let (mut node, mut height) = (node, order);
        while node > 1 {
            (node, height) = (node / 2, height + 1);
            self.best[node] = self.merged(node, height);
        }
    }
}

#[cfg(test)]
mod tests;
