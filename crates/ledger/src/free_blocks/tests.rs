use proptest::prelude::*;

use super::*;

fn size(n: u32) -> IpuCount {
    IpuCount::new(n.into()).unwrap()
}

fn place(domain: u32, index: u32) -> Place {
    Place { domain, index }
}

/// Places in domain 0.
fn at(indexes: impl IntoIterator<Item = u32>) -> Vec<Place> {
    indexes.into_iter().map(|index| place(0, index)).collect()
}

#[test]
fn a_partition_fits_if_a_block_is_free() {
    let whole = |domain| (0..64).map(move |index| place(domain, index));
    for (what, ipus, domain, taken, unplaced, free, largest) in [
        ("no hardware", 0, 64, vec![], &[][..], 0, 0),
        ("one IPU", 1, 64, vec![], &[], 1, 1),
        ("an empty Pod16", 16, 64, vec![], &[], 16, 16),
        ("an empty Pod64", 64, 64, vec![], &[], 64, 64),
        ("a full Pod64", 64, 64, at(0..64), &[], 0, 0),
        ("half of it", 64, 64, at(0..32), &[], 32, 32),
        ("half of it in the middle", 64, 64, at(16..48), &[], 32, 16),
        ("one IPU too many", 64, 64, at(0..33), &[], 31, 16),
        ("every other IPU", 64, 64, at((0..64).step_by(2)), &[], 32, 1),
        ("one IPU of each 16", 64, 64, at([0, 16, 32, 48]), &[], 60, 8),
        ("no perfect block", 64, 64, at([5, 6, 7, 8]), &[], 60, 32),
        ("a partial domain", 48, 64, vec![], &[], 48, 32),
        ("a partial domain, its first half used", 48, 64, at(0..32), &[], 16, 16),
        ("a whole and a partial domain", 96, 64, vec![], &[], 96, 64),
        ("two domains", 128, 64, vec![], &[], 128, 128),
        ("two domains, one touched", 128, 64, vec![place(1, 63)], &[], 127, 64),
        ("three domains", 192, 64, vec![], &[], 192, 128),
        ("two free domains that are not neighbours", 192, 64, whole(1).collect(), &[], 128, 128),
        ("four domains, one touched", 256, 64, vec![place(2, 0)], &[], 255, 128),
        ("domains of 4", 16, 4, at([0]), &[], 15, 8),
        ("domains of 1", 8, 1, at([0]), &[], 7, 4),
        ("small ones of unknown place", 64, 64, vec![], &[1, 16, 1], 46, 32),
        ("large ones of unknown place", 256, 64, vec![place(1, 1)], &[128], 127, 64),
        ("the lowest block first", 64, 64, at(48..64), &[16], 32, 16),
        ("no block for it, so parts of blocks", 64, 64, at((0..64).step_by(8)), &[16], 40, 4),
        ("larger than all there is", 64, 64, vec![], &[128, 1 << 31], 0, 0),
        ("a place twice", 64, 64, at([0, 0]), &[], 62, 32),
        ("a place the Pod has not", 64, 64, vec![place(0, 64), place(1, 0), place(u32::MAX, 1)], &[], 61, 32),
        ("a place that a partial domain has not", 48, 64, at([48]), &[], 47, 16),
    ] {
        let mut blocks = FreeBlocks::new(ipus, &size(domain).into(), taken);
        unplaced.iter().for_each(|n| blocks.take(size(*n), &mut |_| {}));
        assert_eq!((blocks.free(), blocks.largest()), (free, largest), "{what}");
    }
}

#[test]
fn faulty_ipus_count_one_by_one() {
    for (faulty, free, largest) in [(0, 64, 64), (1, 63, 32), (32, 32, 32), (64, 0, 0), (u32::MAX, 0, 0)] {
        let mut blocks = FreeBlocks::new(64, &size(64).into(), []);
        blocks.take_each(faulty, &mut |_| {});
        assert_eq!((blocks.free(), blocks.largest()), (free, largest), "{faulty}");
    }
}

#[test]
fn a_huge_pod_is_filled_to_the_last_ipu() {
    let mut blocks = FreeBlocks::new(65_536, &size(64).into(), []);
    assert_eq!(blocks.largest(), 65_536);
    for taken in 0..10_000 {
        assert_eq!(blocks.free(), 65_536 - 4 * taken);
        blocks.take(size(4), &mut |_| {});
    }
    // 625 domains are full, and 399 are free.
    assert_eq!((blocks.free(), blocks.largest()), (25_536, 16_384));
    blocks.take(size(16_384), &mut |_| {});
    blocks.take(size(8192), &mut |_| {});
    assert_eq!((blocks.free(), blocks.largest()), (960, 512));
}

/// An implementation of these questions that looks at every IPU.
struct Plain {
    domain: usize,
    free: Vec<bool>,
}

impl Plain {
    fn block(&self, order: u32) -> Option<usize> {
        let (len, full) = (1 << order, self.free.len());
        let fits =
            |start: &usize| start + len <= full && self.free[*start..start + len].iter().all(|free| *free);
        (0..full).step_by(len).find(fits)
    }

    fn free_domains(&self) -> usize {
        self.free
            .chunks(self.domain)
            .filter(|ipus| ipus.len() == self.domain && ipus.iter().all(|free| *free))
            .count()
    }

    fn largest(&self) -> u32 {
        let domains = self.free_domains();
        if domains > 0 {
            return (self.domain << domains.ilog2()) as u32;
        }
        let orders = 0..self.domain.ilog2();
        orders.rev().find(|order| self.block(*order).is_some()).map_or(0, |order| 1 << order)
    }

    fn take(&mut self, order: u32) {
        match self.block(order) {
            Some(start) => self.free[start..start + (1 << order)].fill(false),
            None if order > 0 => (0..2).for_each(|_| self.take(order - 1)),
            None => {}
        }
    }
}

proptest! {
    #[test]
    fn the_tree_agrees_with_a_look_at_every_ipu(
        ipus in 1_u32..200,
        domain_order in 0_u32..7,
        marks in prop::collection::btree_set(0_u32..200, 0..40),
        takes in prop::collection::vec(0_u32..7, 0..12),
    ) {
        let domain = 1 << domain_order;
        let marks: Vec<u32> = marks.into_iter().filter(|mark| *mark < ipus).collect();
        let mut plain = Plain { domain: domain as usize, free: vec![true; ipus as usize] };
        marks.iter().for_each(|mark| plain.free[*mark as usize] = false);
        let places = marks.iter().map(|mark| place(mark / domain, mark % domain));
        let mut blocks = FreeBlocks::new(ipus, &size(domain).into(), places);
        for order in takes.into_iter().filter(|order| *order <= domain_order) {
            prop_assert_eq!(blocks.largest(), plain.largest());
            blocks.take(size(1 << order), &mut |_| {});
            plain.take(order);
        }
        prop_assert_eq!(blocks.largest(), plain.largest());
        prop_assert_eq!(blocks.free() as usize, plain.free.iter().filter(|free| **free).count());
    }
}
