//! The times at which the IPUs of one Pod become free, and the slots of plans.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use vipu_types::ControllerName;

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
    fn overlaps(&self, block: &Range<usize>) -> bool {
        self.slot.ipus.iter().any(|kept| kept.start < block.end && block.start < kept.end)
    }

    fn covers(&self, block: &Range<usize>) -> bool {
        self.slot.ipus.iter().any(|kept| kept.start <= block.start && block.end <= kept.end)
    }
}

/// One Pod's IPUs in time. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The times at which the present holders of blocks will be gone.
    pub(super) blocks: Arc<BlockTimes>,
    pub(super) layout: Layout,
    /// The controller. None if it does not matter.
    controller: Option<ControllerName>,
    /// The slots, in the order of the plans.
    reserved: Vec<Reserved>,
    /// The IPUs of these slots, in order. No two ranges overlap.
    kept: Ipus,
}

impl Timeline {
    /// A Pod with these IPUs taken until these times.
    pub(crate) fn new(
        ipus: u32,
        layout: &Layout,
        taken: impl IntoIterator<Item = (Range<usize>, Seconds)>,
    ) -> Self {
        let blocks = BlockTimes::new(ipus as usize, layout.domain(ipus) as usize, taken);
        Self {
            blocks: Arc::new(blocks),
            layout: layout.clone(),
            controller: None,
            reserved: Vec::new(),
            kept: Vec::new(),
        }
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
        for ipus in &slot.ipus {
            let first = self.kept.partition_point(|kept| kept.end < ipus.start);
            let after = self.kept.partition_point(|kept| kept.start <= ipus.end);
            let joined = self.kept[first..after]
                .iter()
                .fold(ipus.clone(), |all, kept| all.start.min(kept.start)..all.end.max(kept.end));
            self.kept.splice(first..after, [joined]);
        }
        self.reserved.push(Reserved { plan, slot, end });
    }

    /// A copy of the Pod with the `above` plans of highest rank.
    pub(crate) fn with_plans(&self, above: usize) -> Self {
        let Self { blocks, layout, controller, .. } = self;
        let mut copy = Self {
            blocks: Arc::clone(blocks),
            layout: layout.clone(),
            controller: controller.clone(),
            reserved: Vec::new(),
            kept: Vec::new(),
        };
        for Reserved { plan, slot, end } in self.plans(above) {
            copy.keep(*plan, slot.clone(), *end);
        }
        copy
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

    /// The aligned blocks of a size.
    pub(super) fn units(&self, unit: usize) -> impl Iterator<Item = Range<usize>> {
        units(0..self.blocks.ipus(), unit)
    }

    /// The first time from which a unit is free for this duration.
    pub(super) fn free_from(
        &self,
        unit: &Range<usize>,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Seconds {
        let start = self.blocks.free_at(unit).max(from);
        self.beside_plans(unit, start, duration, above, |kept| kept.overlaps(unit))
    }

    /// A time before which no part of an aligned block is free for this duration.
    pub(super) fn soonest(
        &self,
        block: &Range<usize>,
        duration: Duration,
        from: Seconds,
        above: usize,
    ) -> Seconds {
        let start = self.blocks.first_free_at(block).max(from);
        self.beside_plans(block, start, duration, above, |kept| kept.covers(block))
    }

    /// The first time, not before `start`, from which none of these plans for a block holds its slot for this duration.
    fn beside_plans(
        &self,
        block: &Range<usize>,
        mut start: Seconds,
        duration: Duration,
        above: usize,
        is_in_the_way: impl Fn(&Reserved) -> bool,
    ) -> Seconds {
        if start == NEVER || !self.may_be_kept(block) {
            return start;
        }
        while let Some(in_the_way) = self.plans(above).find(|kept| {
            kept.slot.start < start.later_by(duration) && start < kept.end && is_in_the_way(kept)
        }) {
            start = in_the_way.end;
        }
        start
    }

    /// Whether all parts of an aligned block are free at the same times from `from` on: its IPUs have one end, and each
    /// plan holds all of them or none.
    pub(super) fn is_alike(&self, block: &Range<usize>, from: Seconds, above: usize) -> bool {
        let is_split = |kept: &Reserved| kept.overlaps(block) && !kept.covers(block);
        self.blocks.is_even(block, from) && !(self.may_be_kept(block) && self.plans(above).any(is_split))
    }

    /// False if no plan has any of these IPUs. This is known without a look at each plan.
    fn may_be_kept(&self, ipus: &Range<usize>) -> bool {
        let next = self.kept.partition_point(|kept| kept.end <= ipus.start);
        self.kept.get(next).is_some_and(|kept| kept.start < ipus.end)
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
}

/// The aligned units of a range.
pub(super) fn units(within: Range<usize>, unit: usize) -> impl Iterator<Item = Range<usize>> {
    within.step_by(unit).map(move |first| first..first + unit)
}
