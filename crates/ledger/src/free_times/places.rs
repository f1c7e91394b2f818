//! The places that a partition can have on one Pod: the first one in time, and those that are free now.

use std::ops::Range;
use std::time::Duration;

use vipu_types::IpuCount;

use super::block_times::{NEVER, halves};
use super::timeline::{Ipus, Slot, Timeline, units};
use crate::{Layout, Seconds};

impl Timeline {
    /// The pieces of a partition: the number of IPUs in one piece, and the number of pieces.
    pub(super) fn shape(&self, size: IpuCount) -> (usize, usize) {
        let size = size.get() as usize;
        if matches!(self.layout, Layout::Pool(_)) {
            return (size, 1);
        }
        let domain = self.blocks.domain();
        (size.min(domain), size.div_ceil(domain))
    }

    /// The blocks of which a partition of this size has one, or several if they are domains. In a pool, the
    /// smallest come first.
    pub(super) fn candidates(&self, size: IpuCount) -> Vec<Range<usize>> {
        let aligned = || self.units(self.shape(size).0).collect();
        self.layout.serving(size).unwrap_or_else(aligned)
    }

    /// The first slot for a partition of this size and duration, not before `from`, beside the slots of the
    /// `above` plans of highest rank. Of several first slots, one that breaks up as little as possible.
    pub(crate) fn earliest(
        &self,
        size: IpuCount,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Option<Slot> {
        if let Some(blocks) = self.layout.serving(size) {
            return self.earliest_of(blocks, duration, from, above);
        }
        let (unit, pieces) = self.shape(size);
        if pieces > 1 {
            return self.earliest_domains(pieces, duration, from, above);
        }
        self.first_block(unit, duration, from, above)
    }

    /// The first of these blocks that is free. Of several first ones, the first in order.
    fn earliest_of(
        &self,
        blocks: Vec<Range<usize>>,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Option<Slot> {
        let slots = blocks.into_iter().map(|ipus| (self.free_from(&ipus, duration, from, above), ipus));
        let (start, ipus) = slots.filter(|(start, _)| *start != NEVER).min_by_key(|(start, _)| *start)?;
        Some(Slot { start, ipus: vec![ipus] })
    }

    /// The first time at which this number of domains is free together.
    fn earliest_domains(
        &self,
        pieces: usize,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Option<Slot> {
        let domain = self.blocks.domain();
        let mut start = from;
        loop {
            let alike = self.alike_domains(start, above).into_iter();
            let mut free: Vec<_> =
                alike.map(|ipus| (self.free_from(&ipus, duration, start, above), ipus)).collect();
            free.sort_unstable_by_key(|(free, ipus)| (*free, ipus.start));
            let in_order =
                free.into_iter().flat_map(|(free, ipus)| units(ipus, domain).map(move |it| (free, it)));
            let (times, ipus): (Vec<_>, Ipus) = in_order.take(pieces).unzip();
            let last = times.last().filter(|last| times.len() == pieces && **last != NEVER)?;
            if *last == start {
                return Some(Slot { start, ipus });
            }
            // A domain that is free earlier may be reserved again by then, so all domains are checked anew.
            start = *last;
        }
    }

    /// The blocks of whole domains that are free at the same times from `from` on.
    fn alike_domains(&self, from: Seconds, above: usize) -> Ipus {
        let mut alike = Vec::new();
        let mut blocks = vec![self.blocks.whole()];
        while let Some(block) = blocks.pop() {
            if block.len() == self.blocks.domain() || self.is_alike(&block, from, above) {
                alike.push(block);
            } else {
                blocks.extend(halves(&block));
            }
        }
        alike
    }

    /// The places for a partition of this size at `now`, one of each kind. Two places are of one kind if
    /// exchanging free buddies turns one into the other. Places that break up the least come first. In a pool, each
    /// free partition is a kind.
    pub(crate) fn places_now(&self, size: IpuCount, now: Seconds) -> Vec<Ipus> {
        if let Some(blocks) = self.layout.serving(size) {
            let is_free = |block: &Range<usize>| self.blocks.free_at(block) <= now;
            return blocks.into_iter().filter(is_free).map(|ipus| vec![ipus]).collect();
        }
        let (unit, pieces) = self.shape(size);
        let (free, domain) = (self.free_blocks(unit, now), self.blocks.domain());
        if pieces > 1 {
            let domains: Ipus =
                free.into_iter().flat_map(|block| units(block, domain)).take(pieces).collect();
            return if domains.len() == pieces { vec![domains] } else { Vec::new() };
        }
        let kind = |block: &Range<usize>| block.len().min(domain);
        let mut places: Vec<_> =
            free.iter().map(|block| (kind(block), block.start..block.start + unit)).collect();
        places.sort_by_key(|(whole, _)| *whole);
        // One free domain is like another.
        places.truncate(places.partition_point(|(whole, _)| *whole < domain) + 1);
        places.into_iter().map(|(_, block)| vec![block]).collect()
    }

    /// The largest aligned blocks that are free at `now`, with at least `unit` IPUs each, in order.
    fn free_blocks(&self, unit: usize, now: Seconds) -> Ipus {
        let mut free = Vec::new();
        let mut blocks = vec![self.blocks.whole()];
        while let Some(block) = blocks.pop() {
            if self.blocks.free_at(&block) <= now {
                free.push(block);
            } else if self.blocks.first_free_at(&block) <= now && block.len() > unit {
                let [first, second] = halves(&block);
                blocks.extend([second, first]);
            }
        }
        free
    }
}
