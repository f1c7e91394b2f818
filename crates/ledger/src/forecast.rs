//! Forecasts from a copy of the ledger's state, for readers of the status document.
//!
//! They are calculated as the ledger's own: [`FreeTimes`] has the rules for both.

use std::collections::BTreeSet;

use vipu_types::{ControllerName, IpuCount, Place, Placement};

use crate::free_blocks::FreeBlocks;
use crate::free_times::{FreeTimes, NEVER, OtherNeeds, Slot, Timeline};
use crate::waiting_line::{MOST_PLANS, Plan};
use crate::{InLine, Layout, Seconds, Wish};

/// The IPUs of one Pod in time.
#[derive(Clone, Debug)]
pub struct PodInTime {
    /// Its controller. None: every job may have its IPUs.
    pub controller: Option<ControllerName>,
    /// All IPUs.
    pub ipus: u32,
    /// The blocks of IPUs that partitions can have.
    pub layout: Layout,
    /// The places that are not free, each with the time at which it will be. None if that is unknown.
    pub taken: Vec<(Place, Option<Seconds>)>,
}

impl PodInTime {
    /// The number of partitions of this size that fit now, all of them together.
    pub fn room_for(&self, size: IpuCount) -> u32 {
        // A drained IPU may be in a partition too.
        let taken: BTreeSet<Place> = self.taken.iter().map(|(place, _)| *place).collect();
        let mut blocks = FreeBlocks::new(self.ipus, &self.layout, taken);
        let mut count = 0;
        while blocks.first_for(size).is_some() {
            blocks.take(size, &mut |_| {});
            count += 1;
        }
        count
    }
}

/// The start of a job in a forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStart {
    /// The time.
    pub at: Seconds,
    /// The number of the Pod.
    pub pod: usize,
    /// The IPUs. If the controller chooses places, it may choose others.
    pub places: Vec<Place>,
}

/// The free times of one model at one moment, with the plans of the first jobs in line.
#[derive(Clone, Debug)]
pub struct Forecast {
    free_times: FreeTimes,
    now: Seconds,
    domains: Vec<u32>,
    is_explicit: bool,
}

impl Forecast {
    /// The number of jobs in line that have a plan.
    pub const PLANS: usize = MOST_PLANS;

    /// The forecast for these Pods, in the order in which they are tried, and this line, the first job first.
    pub fn new(
        now: Seconds,
        placement: Placement,
        pods: &[PodInTime],
        others: OtherNeeds,
        line: Vec<InLine>,
    ) -> Self {
        let timelines = pods.iter().map(|pod| timeline(now, pod)).collect();
        let plan = |InLine { wish, not_before, behind, seen }| {
            let not_before = now.max(not_before);
            Plan { wish, not_before, seen, ranked: seen, told: None, behind }
        };
        let plans = line.into_iter().take(MOST_PLANS).map(plan).collect();
        Self {
            free_times: FreeTimes::new(timelines, others, plans),
            now,
            domains: pods.iter().map(|pod| pod.layout.domain(pod.ipus)).collect(),
            is_explicit: placement == Placement::Explicit,
        }
    }

    /// The start of a job as [`crate::Ledger::forecast`] tells it, not before `from`. The ledger leaves the
    /// licences of a start now to Slurm. The job need not be in
    /// line; its place in line is that of its rank.
    ///
    /// `behind` is [`InLine::behind`] of a job in line.
    pub fn start_of(&self, wish: &Wish, from: Seconds, behind: Option<u32>) -> Option<PlannedStart> {
        let from = from.max(self.now);
        let behind = if from > self.now || !self.free_times.is_allowed(wish, self.now) {
            behind
        } else {
            let with_room = self.free_times.with_room(wish, self.now);
            match self.free_times.harmless_pod(&with_room, wish, self.now, self.is_explicit) {
                Ok(pod) => {
                    let ipus = self.free_times.harmless_place(pod, wish, self.now).unwrap_or_default();
                    return Some(self.start((pod, Slot { start: self.now, ipus })));
                }
                Err(job) => Some(job).filter(|_| !with_room.is_empty() && !self.is_explicit),
            }
        };
        let found = self.free_times.start_behind(wish, from, self.now, behind)?;
        Some(self.start(found))
    }

    fn start(&self, (pod, slot): (usize, Slot)) -> PlannedStart {
        let ipus = slot.ipus.into_iter().flatten();
        let places = ipus.map(|ipu| Place::numbered(ipu, self.domains[pod])).collect();
        PlannedStart { at: slot.start, pod, places }
    }
}

fn timeline(now: Seconds, pod: &PodInTime) -> Timeline {
    let domain = pod.layout.domain(pod.ipus);
    let taken = pod.taken.iter().filter_map(|(place, until)| {
        let ipu = place.number(domain).filter(|ipu| *ipu < pod.ipus as usize)?;
        Some((ipu..ipu + 1, until.map_or(NEVER, |until| until.max(now))))
    });
    Timeline::new(pod.ipus, &pod.layout, taken).of(pod.controller.clone())
}
