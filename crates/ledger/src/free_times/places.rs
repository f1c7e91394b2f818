//! The places that a partition can have on one Pod: the first one in time, and those that are free now.

use std::ops::Range;
use std::time::Duration;

use vipu_types::IpuCount;

use super::block_times::NEVER;
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
        let soonest = |domain: &Range<usize>| self.blocks.soonest(domain, unit).max(from);
        let domains = || self.units(self.blocks.domain());
        let bound = domains().map(|domain| soonest(&domain)).min()?;
        let (mut first, mut least, mut found) = (NEVER, usize::MAX, None);
        for domain in domains() {
            if soonest(&domain) > first {
                continue;
            }
            for block in units(domain, unit) {
                let start = self.free_from(&block, duration, from, above);
                if start == NEVER || start > first {
                    continue;
                }
                let whole = self.free_around(&block, duration, start, above);
                if (start, whole) < (first, least) {
                    (first, least, found) = (start, whole, Some(block));
                }
            }
            if (first, least) == (bound, unit) {
                break; // There is nothing better.
            }
        }
        found.map(|block| Slot { start: first, ipus: vec![block] })
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

    /// The size of the largest block around this one that is free at the same time.
    fn free_around(&self, block: &Range<usize>, duration: Duration, start: Seconds, above: usize) -> usize {
        let mut whole = block.clone();
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

    /// The first time at which this number of domains is free together.
    fn earliest_domains(
        &self,
        pieces: usize,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Option<Slot> {
        let mut start = from;
        loop {
            let mut domains: Vec<_> = self
                .units(self.blocks.domain())
                .map(|domain| (self.free_from(&domain, duration, start, above), domain.start, domain))
                .filter(|(free, ..)| *free != NEVER)
                .collect();
            domains.sort_unstable_by_key(|(free, first, _)| (*free, *first));
            let last = domains.get(pieces - 1)?.0;
            if last == start {
                let ipus = domains.into_iter().take(pieces).map(|(.., domain)| domain).collect();
                return Some(Slot { start, ipus });
            }
            // A domain that is free earlier may be reserved again by then, so all domains are checked anew.
            start = last;
        }
    }

    /// The places for a partition of this size at `now`, one of each kind. Two places are of one kind if
    /// exchanging free buddies turns one into the other. Places that break up the least come first. In a pool, each
    /// free partition is a kind.
    pub(crate) fn places_now(&self, size: IpuCount, now: Seconds) -> Vec<Ipus> {
        let is_free = |block: &Range<usize>| self.blocks.free_at(block) <= now;
        if let Some(blocks) = self.layout.serving(size) {
            return blocks.into_iter().filter(is_free).map(|ipus| vec![ipus]).collect();
        }
        let (unit, pieces) = self.shape(size);
        if pieces > 1 {
            let free: Ipus = self.units(self.blocks.domain()).filter(is_free).take(pieces).collect();
            return if free.len() == pieces { vec![free] } else { Vec::new() };
        }
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        let (mut at, all, domain) = (0, self.blocks.ipus(), self.blocks.domain());
        let mut free_domain_seen = false;
        while at < all {
            let block = at..at + unit;
            if !is_free(&block) {
                at += unit;
                continue;
            }
            let mut whole = unit;
            while whole < domain && at % (2 * whole) == 0 && is_free(&(at..at + 2 * whole)) {
                whole *= 2;
            }
            if whole < domain || !free_domain_seen {
                places.push((whole, block));
            }
            free_domain_seen |= whole == domain;
            at += whole;
        }
        places.sort_by_key(|(whole, _)| *whole);
        places.into_iter().map(|(_, block)| vec![block]).collect()
    }
}
