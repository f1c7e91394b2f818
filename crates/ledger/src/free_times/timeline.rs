//! The times at which the IPUs of one Pod become free, and the slots of plans.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use vipu_types::{ControllerName, IpuCount};

use super::block_times::{BlockTimes, NEVER};
use crate::{Layout, Seconds};

/// The IPUs of a partition: one aligned block, or several whole IPU-Link domains.
pub(crate) type Ipus = Vec<Range<usize>>;

/// IPUs of this Pod that can be a partition from `start` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) start: Seconds,
    pub(crate) ipus: Ipus,
}

/// The IPUs that a plan holds for a time.
#[derive(Clone, Debug)]
struct Reserved {
    /// The number of the plan, in the order of rank.
    plan: usize,
    slot: Slot,
    end: Seconds,
}

impl Reserved {
    fn overlaps(&self, unit: &Range<usize>) -> bool {
        self.slot.ipus.iter().any(|kept| kept.start < unit.end && unit.start < kept.end)
    }
}

/// One Pod's IPUs in time. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The times at which the present holders of blocks will be gone.
    blocks: Arc<BlockTimes>,
    layout: Layout,
    /// The controller. None if it does not matter.
    controller: Option<ControllerName>,
    /// The slots, in the order of the plans.
    reserved: Vec<Reserved>,
}

impl Timeline {
    /// A Pod with these IPUs taken until these times.
    pub(crate) fn new(
        ipus: u32,
        layout: &Layout,
        taken: impl IntoIterator<Item = (Range<usize>, Seconds)>,
    ) -> Self {
        let blocks = BlockTimes::new(ipus as usize, layout.domain(ipus) as usize, taken);
        Self { blocks: Arc::new(blocks), layout: layout.clone(), controller: None, reserved: Vec::new() }
    }

    /// Notes the controller of these IPUs.
    pub(crate) fn of(self, controller: Option<ControllerName>) -> Self {
        Self { controller, ..self }
    }

    /// The controller, if that is known.
    pub(crate) fn controller(&self) -> Option<&ControllerName> {
        self.controller.as_ref()
    }

    #[cfg(test)]
    /// Takes these IPUs until this time.
    pub(crate) fn occupy(&mut self, ipus: Range<usize>, until: Seconds) {
        Arc::make_mut(&mut self.blocks).occupy(ipus, until);
    }

    /// Reserves a slot for a plan of lower rank than all plans with a slot.
    pub(crate) fn keep(&mut self, plan: usize, slot: Slot, end: Seconds) {
        self.reserved.push(Reserved { plan, slot, end });
    }

    /// A copy of the Pod without plans.
    pub(crate) fn without_plans(&self) -> Self {
        Self { reserved: Vec::new(), ..self.clone() }
    }

    /// The number of IPUs that the `above` plans of highest rank hold at this time.
    pub(crate) fn planned_ipus(&self, at: Seconds, above: usize) -> u64 {
        let held = self.plans(above).filter(|kept| kept.slot.start <= at && at < kept.end);
        held.flat_map(|kept| &kept.slot.ipus).map(|ipus| ipus.len() as u64).sum()
    }

    /// The ends of the `above` plans of highest rank.
    pub(crate) fn plan_ends(&self, above: usize) -> impl Iterator<Item = Seconds> {
        self.plans(above).map(|kept| kept.end)
    }

    /// The slots of the `above` plans of highest rank.
    fn plans(&self, above: usize) -> impl Iterator<Item = &Reserved> {
        self.reserved.iter().take_while(move |kept| kept.plan < above)
    }

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

    /// The aligned blocks of a size.
    fn units(&self, unit: usize) -> impl Iterator<Item = Range<usize>> {
        units(0..self.blocks.ipus(), unit)
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

    /// The first time from which a unit is free for this duration.
    fn free_from(&self, unit: &Range<usize>, duration: Duration, from: Seconds, above: usize) -> Seconds {
        let mut start = self.blocks.free_at(unit).max(from);
        if start == NEVER || self.reserved.is_empty() {
            return start;
        }
        while let Some(in_the_way) = self.plans(above).find(|kept| {
            kept.slot.start < start.later_by(duration) && start < kept.end && kept.overlaps(unit)
        }) {
            start = in_the_way.end;
        }
        start
    }

    /// The time at which the present holders of an aligned block, or of several whole domains, will be gone.
    pub(crate) fn block_free_at(&self, ipus: &Range<usize>) -> Seconds {
        if ipus.end > self.blocks.ipus() {
            return NEVER;
        }
        let pieces = units(ipus.clone(), ipus.len().min(self.blocks.domain()));
        pieces.map(|piece| self.blocks.free_at(&piece)).max().unwrap_or(NEVER)
    }

    /// Whether any of these IPUs is reserved, at any time, for one of the `above` plans of highest rank.
    pub(super) fn is_kept(&self, ipus: &Range<usize>, above: usize) -> bool {
        self.plans(above).any(|kept| kept.overlaps(ipus))
    }

    /// Whether any of these IPUs is reserved before `end` for one of the `above` plans of highest rank.
    pub(super) fn is_kept_before(&self, place: &Ipus, end: Seconds, above: usize) -> bool {
        let mut kept = self.plans(above).filter(|kept| kept.slot.start < end);
        kept.any(|kept| place.iter().any(|ipus| kept.overlaps(ipus)))
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

/// The aligned units of a range.
fn units(within: Range<usize>, unit: usize) -> impl Iterator<Item = Range<usize>> {
    within.step_by(unit).map(move |first| first..first + unit)
}
