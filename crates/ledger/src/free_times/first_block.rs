//! The search for the first free block of a size on one Pod.
//!
//! The search begins with the block of all IPUs, and halves blocks whose parts differ. Parts that are alike are never
//! looked at one by one. The block that can still have the best result is always next, so the first result is the best.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use super::block_times::{NEVER, halves};
use super::timeline::{Slot, Timeline};
use crate::Seconds;

/// A block in the search. The best one comes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    /// The time before which nothing in the block is free.
    start: Seconds,
    /// The size of the largest block that is free then around a place in this block, at least.
    whole: usize,
    first_ipu: usize,
    len: usize,
    step: Step,
}

/// The next step of the search in a block.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Its first place is as good as any other. The start and the largest block around it are exact.
    Take,
    /// Its first place is as good as any other. The start is exact.
    LookAround,
    /// Its halves may differ.
    Halve,
}

impl Timeline {
    /// The first slot of one aligned block, not before `from`, beside the slots of the `above` plans of highest rank. Of
    /// several first slots, the one in the smallest free block. Of several of these, the first in order.
    pub(super) fn first_block(
        &self,
        unit: usize,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Option<Slot> {
        let part = |block: Range<usize>| {
            let is_alike = block.len() == unit || self.is_alike(&block, from, above);
            let (step, start, whole) = match is_alike {
                true => (Step::LookAround, self.free_from(&block, duration, from, above), block.len()),
                false => (Step::Halve, self.soonest(&block, duration, from, above), unit),
            };
            let whole = whole.min(self.blocks.domain());
            Reverse(Part { start, whole, first_ipu: block.start, len: block.len(), step })
        };
        let mut parts = BinaryHeap::from([part(self.blocks.whole())]);
        while let Some(Reverse(Part { start, whole, first_ipu, len, step })) = parts.pop()
            && start != NEVER
        {
            let block = first_ipu..first_ipu + len;
            match step {
                Step::Take => {
                    let block = first_ipu..first_ipu + unit;
                    return Some(Slot { start, ipus: vec![block] });
                }
                Step::LookAround => {
                    let whole = self.free_around(first_ipu..first_ipu + whole, duration, start, above);
                    parts.push(Reverse(Part { start, whole, first_ipu, len, step: Step::Take }));
                }
                Step::Halve => parts.extend(halves(&block).map(part)),
            }
        }
        None
    }

    /// The size of the largest block around this one that is free at the same time.
    fn free_around(&self, block: Range<usize>, duration: Duration, start: Seconds, above: usize) -> usize {
        let mut whole = block;
        loop {
            let twice = 2 * whole.len();
            let first = whole.start / twice * twice;
            let next = first..first + twice;
            if twice > self.blocks.domain() || self.free_from(&next, duration, start, above) > start {
                return whole.len();
            }
            whole = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vipu_types::IpuCount;

    use super::super::block_times::FREE;
    use super::super::block_times::tests::HALVED;
    use super::super::timeline::{Ipus, units};
    use super::*;
    use crate::span;

    const NOW: Seconds = Seconds(1000);

    /// A Pod whose blocks are looked at one by one.
    struct OneByOne {
        domain: usize,
        ends: Vec<Seconds>,
        plans: Vec<(Slot, Seconds)>,
    }

    impl OneByOne {
        fn free_from(&self, block: &Range<usize>, duration: Duration, from: Seconds) -> Seconds {
            let ends = block.clone().map(|ipu| self.ends.get(ipu).copied().unwrap_or(NEVER));
            let mut start = ends.max().unwrap_or(NEVER).max(from);
            let has_one_of = |ipus: &Ipus| ipus.iter().any(|it| it.start < block.end && block.start < it.end);
            while let Some((_, end)) = self.plans.iter().find(|(slot, end)| {
                slot.start < start.later_by(duration) && start < *end && has_one_of(&slot.ipus)
            }) {
                start = *end;
            }
            start
        }

        fn free_around(&self, block: &Range<usize>, duration: Duration, start: Seconds) -> usize {
            let sizes = std::iter::successors(Some(block.len()), |size| Some(size * 2));
            let around = |size: &usize| block.start / size * size..(block.start / size + 1) * size;
            let is_free = |size: &usize| self.free_from(&around(size), duration, start) == start;
            sizes.take_while(|size| *size <= self.domain && is_free(size)).last().unwrap_or(0)
        }

        fn blocks(&self, size: usize) -> impl Iterator<Item = Range<usize>> {
            units(0..self.ends.len().next_multiple_of(self.domain), size)
        }

        fn earliest(&self, size: usize, duration: Duration, from: Seconds) -> Option<Slot> {
            if size > self.domain {
                return self.domains(size / self.domain, duration, from);
            }
            let starts = self.blocks(size).map(|block| (self.free_from(&block, duration, from), block));
            let free = starts.filter(|(start, _)| *start != NEVER);
            let found =
                free.min_by_key(|(start, block)| (*start, self.free_around(block, duration, *start)))?;
            Some(Slot { start: found.0, ipus: vec![found.1] })
        }

        fn domains(&self, pieces: usize, duration: Duration, from: Seconds) -> Option<Slot> {
            let mut domains: Vec<_> = self
                .blocks(self.domain)
                .map(|block| (self.free_from(&block, duration, from), block.start, block))
                .collect();
            domains.sort_by_key(|(start, first, _)| (*start, *first));
            let last = domains.get(pieces - 1)?.0;
            if last == NEVER || last > from {
                return if last == NEVER { None } else { self.domains(pieces, duration, last) };
            }
            Some(Slot {
                start: from,
                ipus: domains.into_iter().take(pieces).map(|(.., block)| block).collect(),
            })
        }

        /// The places that are free now, one in each largest free block, but in one free domain only.
        fn places_now(&self, size: usize) -> Vec<Ipus> {
            let is_free = |block: &Range<usize>| {
                block.clone().all(|ipu| self.ends.get(ipu) <= Some(&NOW) && ipu < self.ends.len())
            };
            if size > self.domain {
                let free: Ipus = self.blocks(self.domain).filter(is_free).take(size / self.domain).collect();
                return if free.len() == size / self.domain { vec![free] } else { Vec::new() };
            }
            let mut places = Vec::new();
            let mut whole = size;
            while whole <= self.domain {
                let is_largest = |block: &Range<usize>| {
                    let around = block.start / (2 * whole) * (2 * whole);
                    is_free(block) && (whole == self.domain || !is_free(&(around..around + 2 * whole)))
                };
                let of_this_size = self.blocks(whole).filter(is_largest);
                let most = if whole == self.domain { 1 } else { usize::MAX };
                let first = |block: Range<usize>| block.start..block.start + size;
                places.extend(of_this_size.take(most).map(|block| vec![first(block)]));
                whole *= 2;
            }
            places
        }
    }

    proptest! {
        /// The first slot of each plan behind the others, and the places that are free now, are those found by a look at
        /// each block.
        #[test]
        fn the_first_slot_is_that_of_a_look_at_each_block(
            ipus in 1..40_usize,
            taken in prop::collection::vec((0..40_usize, 1..20_usize, 0..4_usize), 0..6),
            plans in prop::collection::vec((0..6_u32, 1..30_i64, 0..20_i64, any::<bool>()), 1..9),
        ) {
            let ends = [NEVER, NOW, Seconds(1020), Seconds(1040)];
            let taken = taken.iter().filter(|(first, ..)| *first < ipus);
            let taken: Vec<_> =
                taken.map(|(first, len, end)| (*first..(first + len).min(ipus), ends[*end])).collect();
            let domain_size = IpuCount::new(8).unwrap();
            let mut pod = Timeline::new(u32::try_from(ipus).unwrap(), &domain_size.into(), taken.clone());
            let mut plain = OneByOne { domain: pod.blocks.domain(), ends: vec![FREE; ipus], plans: Vec::new() };
            for (ipus, until) in taken {
                plain.ends[ipus].iter_mut().for_each(|end| *end = until.max(*end));
            }
            for (n, (order, duration, later, is_endless)) in plans.into_iter().enumerate() {
                let (size, from) = (IpuCount::new(1 << order).unwrap(), Seconds(NOW.0 + later));
                let slot = pod.earliest(size, span(duration), from, n);
                prop_assert_eq!(&slot, &plain.earliest(1 << order, span(duration), from));
                prop_assert_eq!(pod.places_now(size, NOW), plain.places_now(1 << order));
                let Some(slot) = slot else { continue };
                let end = if is_endless { NEVER } else { slot.start.later_by(span(duration)) };
                pod.keep(n, slot.clone(), end);
                plain.plans.push((slot, end));
            }
        }
    }

    /// The number of blocks that are halved for 16 plans on a Pod whose IPUs become free at one time.
    fn halved(ipus: u32, size: u64) -> u32 {
        let mut pod =
            Timeline::new(ipus, &IpuCount::new(64).unwrap().into(), [(0..ipus as usize, Seconds(2000))]);
        HALVED.set(0);
        for n in 0..16 {
            let slot = pod.earliest(IpuCount::new(size).unwrap(), span(60), NOW, n).unwrap();
            let end = slot.start.later_by(span(60));
            pod.keep(n, slot, end);
            pod.places_now(IpuCount::new(size).unwrap(), NOW);
        }
        HALVED.get()
    }

    #[test]
    fn the_search_does_not_grow_with_ipus_in_the_same_state() {
        for size in [1, 16, 64] {
            let (small, large) = (halved(1024, size), halved(4096, size));
            // Each plan halves two more blocks of all IPUs.
            assert!(large <= small + 2 * 16, "{size} IPUs: {small} and {large} blocks halved");
            assert!(large <= 400);
        }
    }
}
