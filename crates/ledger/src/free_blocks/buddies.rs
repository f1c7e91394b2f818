//! The free blocks of IPU-Link domains.
//!
//! A partition of up to one IPU-Link domain is an aligned block of that domain, with a power of two of IPUs.
//! A larger partition is a number of whole domains. A partition therefore fits if such blocks are free. A
//! buddy tree finds them: each node knows the largest free block below it, and the root that of the whole
//! Pod. The last domain may be partial. The IPUs that it lacks count as taken.

use std::ops::Range;

use vipu_types::{IpuCount, Place};

/// The free aligned blocks of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buddies {
    /// The exponent of the size of an IPU-Link domain, which is a power of two.
    domain_order: u32,
    /// The binary tree, with the root at 1 and the IPUs as leaves. A node is 0 if nothing below it is free,
    /// or else one more than the order of the largest free aligned block below.
    best: Vec<u8>,
    /// The number of free IPUs.
    free: u32,
    /// The number of domains without a taken IPU.
    free_domains: u32,
}

impl Buddies {
    /// A Pod of `ipus` IPUs in domains of `domain` IPUs, with the IPUs at `taken` taken.
    ///
    /// A place that is taken twice, or that this Pod lacks, still stands for one used IPU.
    /// [`Buddies::take_each`] chooses an IPU for it.
    pub(crate) fn new(ipus: u32, domain: u32, taken: impl IntoIterator<Item = Place>) -> Self {
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

    /// The value of a node at `height`, from its children.
    fn merged(&self, node: usize, height: u32) -> u8 {
        let (left, right) = (self.best[2 * node], self.best[2 * node + 1]);
        let buddies_free = u32::from(left) == height && u32::from(right) == height;
        if buddies_free && height <= self.domain_order { left + 1 } else { left.max(right) }
    }

    /// The value of the node of a domain without a taken IPU.
    fn whole_domain(&self) -> u8 {
        self.domain_order as u8 + 1
    }

    /// The number of free IPUs.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// The size of the largest partition that fits. 0 if none fits.
    pub(crate) fn largest(&self) -> u32 {
        match self.best[1] {
            0 => 0,
            best if best == self.whole_domain() => 1 << (self.domain_order + self.free_domains.ilog2()),
            best => 1 << (best - 1),
        }
    }

    /// Takes the IPUs of a partition of unknown place: the lowest free block or domains. `taken` is called
    /// with them.
    ///
    /// If there is no such block, smaller ones are taken. The partition exists, and its IPUs are used
    /// wherever they are.
    pub(crate) fn take(&mut self, size: IpuCount, taken: &mut impl FnMut(Range<usize>)) {
        let order = size.get().ilog2().min(self.domain_order);
        for _ in 0..size.get() >> order {
            if self.free == 0 {
                return;
            }
            self.take_block(order, taken);
        }
    }

    /// Takes this number of single IPUs.
    pub(crate) fn take_each(&mut self, ipus: u32, taken: &mut impl FnMut(Range<usize>)) {
        for _ in 0..ipus.min(self.free) {
            self.take_block(0, taken);
        }
    }

    /// Takes this IPU if it is free, and returns whether it was. It must not belong to a block taken as a
    /// whole.
    pub(crate) fn take_ipu(&mut self, ipu: usize) -> bool {
        let leaf = self.best.len() / 2 + ipu;
        let is_free = self.best.get(leaf) == Some(&1);
        if is_free {
            self.occupy(leaf, 0);
        }
        is_free
    }

    /// The first IPU of the lowest block for a partition of this size. None if it does not fit.
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

    /// Takes a free block. The nodes below it keep their values, because they are not read any more.
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
