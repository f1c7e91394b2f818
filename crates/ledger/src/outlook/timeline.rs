//! When the IPUs of one Pod become free, and what is kept there for plans.

use std::ops::Range;

use vipu_types::IpuCount;

use crate::capacity::usable_domain;

/// Seconds since the Unix epoch.
type Time = i64;

/// Free since ever.
pub(crate) const FREE: Time = Time::MIN;

/// Of a stranger, broken, or not there: nobody knows an end.
pub(crate) const NEVER: Time = Time::MAX;

/// The IPUs of a partition: one aligned block, or several whole IPU-Link domains.
pub(crate) type Ipus = Vec<Range<usize>>;

/// IPUs of this Pod that could be a partition from `start` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) start: Time,
    pub(crate) ipus: Ipus,
}

/// IPUs that a plan has for itself during a time.
#[derive(Clone, Debug)]
struct Kept {
    /// Which plan, in the order of rank.
    plan: usize,
    slot: Slot,
    end: Time,
}

impl Kept {
    fn overlaps(&self, unit: &Range<usize>) -> bool {
        self.slot.ipus.iter().any(|kept| kept.start < unit.end && unit.start < kept.end)
    }
}

/// One Pod's IPUs in time.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// IPUs in one IPU-Link domain, a power of two.
    domain: usize,
    /// When whoever has a block now will be gone: level by level, single IPUs first, domains last. Whole domains:
    /// IPUs that the last one lacks are never free.
    free_at: Vec<Vec<Time>>,
    /// In the order of the plans.
    kept: Vec<Kept>,
}

impl Timeline {
    /// A Pod whose IPUs are all free.
    pub(crate) fn new(ipus: u32, domain_size: IpuCount) -> Self {
        let domain = usable_domain(ipus, domain_size) as usize;
        let ipus = ipus as usize;
        let mut singles = vec![FREE; ipus.next_multiple_of(domain)];
        singles[ipus..].fill(NEVER);
        let all = singles.len();
        let mut free_at = vec![singles];
        free_at.extend((1..=domain.ilog2()).map(|level| vec![FREE; all >> level]));
        let mut timeline = Self { domain, free_at, kept: Vec::new() };
        if ipus < all {
            timeline.occupy(ipus..all, NEVER);
        }
        timeline
    }

    /// Somebody has these IPUs until then.
    pub(crate) fn occupy(&mut self, ipus: Range<usize>, until: Time) {
        for (level, blocks) in self.free_at.iter_mut().enumerate() {
            for free_at in &mut blocks[ipus.start >> level..=(ipus.end - 1) >> level] {
                *free_at = until.max(*free_at);
            }
        }
    }

    /// Keeps a slot for a plan of lower rank than all that have one.
    pub(crate) fn keep(&mut self, plan: usize, slot: Slot, end: Time) {
        self.kept.push(Kept { plan, slot, end });
    }

    /// Forgets all plans.
    pub(crate) fn keep_nothing(&mut self) {
        self.kept.clear();
    }

    /// How a partition is put together: the IPUs in one piece, and how many pieces.
    pub(super) fn shape(&self, size: IpuCount) -> (usize, usize) {
        let size = size.get() as usize;
        (size.min(self.domain), size.div_ceil(self.domain))
    }

    /// The units of a size: its aligned blocks, or the domains.
    pub(super) fn units(&self, unit: usize) -> impl Iterator<Item = Range<usize>> {
        (0..self.free_at[0].len() / unit).map(move |n| n * unit..(n + 1) * unit)
    }

    /// The first slot for a partition of this size and duration, not before `from`, beside what is kept for the
    /// `above` plans of highest rank. Of several, one that breaks up as little as possible.
    pub(crate) fn earliest(&self, size: IpuCount, duration: Time, from: Time, above: usize) -> Option<Slot> {
        let (unit, pieces) = self.shape(size);
        if pieces > 1 {
            return self.earliest_domains(pieces, duration, from, above);
        }
        let mut first: Option<(Time, usize, Range<usize>)> = None;
        for block in self.units(unit) {
            let start = self.free_from(&block, duration, from, above);
            if start == NEVER || first.as_ref().is_some_and(|(earlier, ..)| start > *earlier) {
                continue;
            }
            let whole = self.free_around(&block, duration, start, above);
            if first.as_ref().is_none_or(|(earlier, least, _)| (start, whole) < (*earlier, *least)) {
                first = Some((start, whole, block));
            }
        }
        first.map(|(start, _, block)| Slot { start, ipus: vec![block] })
    }

    /// IPUs in the largest block around this one that is free at the same time.
    fn free_around(&self, block: &Range<usize>, duration: Time, start: Time, above: usize) -> usize {
        let mut whole = block.clone();
        loop {
            let twice = 2 * whole.len();
            let first = whole.start / twice * twice;
            let next = first..first + twice;
            if twice > self.domain || self.free_from(&next, duration, start, above) > start {
                return whole.len();
            }
            whole = next;
        }
    }

    /// The first time at which that many domains are free together.
    fn earliest_domains(&self, pieces: usize, duration: Time, from: Time, above: usize) -> Option<Slot> {
        let mut start = from;
        loop {
            let mut domains: Vec<_> = self
                .units(self.domain)
                .map(|domain| (self.free_from(&domain, duration, start, above), domain.start, domain))
                .filter(|(free, ..)| *free != NEVER)
                .collect();
            domains.sort_unstable_by_key(|(free, first, _)| (*free, *first));
            let last = domains.get(pieces - 1)?.0;
            if last == start {
                let ipus = domains.into_iter().take(pieces).map(|(.., domain)| domain).collect();
                return Some(Slot { start, ipus });
            }
            // A domain that is free before may be kept again by then: looked at anew.
            start = last;
        }
    }

    /// When whoever has a block now will be gone.
    fn free_of(&self, block: &Range<usize>) -> Time {
        let level = block.len().ilog2();
        self.free_at[level as usize][block.start >> level]
    }

    /// From when on a unit can be used for this long.
    fn free_from(&self, unit: &Range<usize>, duration: Time, from: Time, above: usize) -> Time {
        let mut start = self.free_of(unit).max(from);
        if start == NEVER || self.kept.is_empty() {
            return start;
        }
        let kept = self.kept.iter().take_while(|kept| kept.plan < above);
        let kept: Vec<_> = kept.filter(|kept| kept.overlaps(unit)).collect();
        while let Some(in_the_way) =
            kept.iter().find(|kept| kept.slot.start < start.saturating_add(duration) && start < kept.end)
        {
            start = in_the_way.end;
        }
        start
    }

    /// Whether any of these IPUs is kept, at whatever time, for one of the `above` plans of highest rank.
    pub(super) fn is_kept(&self, ipus: &Range<usize>, above: usize) -> bool {
        self.kept.iter().take_while(|kept| kept.plan < above).any(|kept| kept.overlaps(ipus))
    }

    /// Where a partition of this size could be put at `now`, one place of each kind: two places of which one can
    /// be turned into the other by exchanging free buddies are of the same kind. Those that break up the least
    /// come first.
    pub(crate) fn places_now(&self, size: IpuCount, now: Time) -> Vec<Ipus> {
        let (unit, pieces) = self.shape(size);
        let is_free = |block: &Range<usize>| self.free_of(block) <= now;
        if pieces > 1 {
            let free: Ipus = self.units(self.domain).filter(is_free).take(pieces).collect();
            return if free.len() == pieces { vec![free] } else { Vec::new() };
        }
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        let (mut at, all) = (0, self.free_at[0].len());
        let mut free_domain_seen = false;
        while at < all {
            let block = at..at + unit;
            if !is_free(&block) {
                at += unit;
                continue;
            }
            let mut whole = unit;
            while whole < self.domain && at % (2 * whole) == 0 && is_free(&(at..at + 2 * whole)) {
                whole *= 2;
            }
            if whole < self.domain || !free_domain_seen {
                places.push((whole, block));
            }
            free_domain_seen |= whole == self.domain;
            at += whole;
        }
        places.sort_by_key(|(whole, _)| *whole);
        places.into_iter().map(|(_, block)| vec![block]).collect()
    }
}
