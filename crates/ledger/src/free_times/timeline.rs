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
    fn overlaps(&self, unit: &Range<usize>) -> bool {
        self.slot.ipus.iter().any(|kept| kept.start < unit.end && unit.start < kept.end)
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

    /// A copy of the Pod with the `above` plans of highest rank.
    pub(crate) fn with_plans(&self, above: usize) -> Self {
        Self { reserved: self.plans(above).cloned().collect(), ..self.clone() }
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
}

/// The aligned units of a range.
pub(super) fn units(within: Range<usize>, unit: usize) -> impl Iterator<Item = Range<usize>> {
    within.step_by(unit).map(move |first| first..first + unit)
}
