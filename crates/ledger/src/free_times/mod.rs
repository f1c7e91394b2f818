//! The free times of one model's Pods, and the plans that hold slots in them.
//!
//! Plans are laid in Slurm's order. Each gets the first slot that the plans before it leave. A job may start
//! now if that pushes back no plan before it in line, wherever the controller puts its partition.
//! Licences are no reason against that: Slurm has looked at them when it asks for a start now. The licences of a job
//! that starts now can push back a plan that needs them later.

mod allowed_starts;
mod block_times;
mod first_block;
mod places;
mod preempt;
mod timeline;

pub use allowed_starts::{Licenses, OtherNeeds};
pub(crate) use block_times::NEVER;
pub(crate) use preempt::{AfterPreemption, fewest_for};
pub(crate) use timeline::{Ipus, Timeline};

use std::cmp::Reverse;
use std::ops::Range;
use std::time::Duration;

use crate::Seconds;
use crate::waiting_line::{MOST_PLANS, Plan, Rank, Wish};
use allowed_starts::AllowedStarts;
use block_times::FREE;
pub(crate) use timeline::Slot;

/// The Pods of one model in time, with the plans.
#[derive(Clone, Debug)]
pub(crate) struct FreeTimes {
    /// The Pods, in the order in which their controllers are tried.
    pods: Vec<Timeline>,
    allowed: AllowedStarts,
    /// The plans in order of rank, the first in line first.
    plans: Vec<Laid>,
}

/// A plan and the start it gets. The start is `None` if it is unknown.
#[derive(Clone, Debug)]
struct Laid {
    plan: Plan,
    start: Option<Seconds>,
}

impl FreeTimes {
    /// Lays `plans`, given in order of rank.
    pub(crate) fn new(mut pods: Vec<Timeline>, others: OtherNeeds, plans: Vec<Plan>) -> Self {
        let allowed = AllowedStarts::new(others);
        let mut laid: Vec<Laid> = Vec::with_capacity(plans.len());
        for (n, mut plan) in plans.into_iter().enumerate() {
            if let Some(first) = plan.behind.and_then(|job| start_of(&laid, job)) {
                plan.not_before = plan.not_before.max(first);
            }
            let start = lay_one(&mut pods, &allowed, &plan, n);
            laid.push(Laid { plan, start });
        }
        Self { pods, allowed, plans: laid }
    }

    /// The start of this job's plan.
    pub(crate) fn start_of(&self, job: u32) -> Option<Seconds> {
        start_of(&self.plans, job)
    }

    /// Whether this job's wish changes the plans.
    pub(crate) fn minds(&self, wish: &Wish) -> bool {
        let is_known = self.plans.iter().any(|laid| laid.plan.wish.job() == wish.job());
        is_known || self.plans.len() < MOST_PLANS || self.above(wish.rank) < MOST_PLANS
    }

    /// The first slot, with the number of its Pod, from which a job of this rank can run, with all plans before
    /// it fulfilled in time. `behind` is the job that has to start first.
    pub(crate) fn start_behind(
        &self,
        wish: &Wish,
        from: Seconds,
        now: Seconds,
        behind: Option<u32>,
    ) -> Option<(usize, Slot)> {
        // There may be an earlier slot, but it is unknown whether the job would get it.
        let not_before =
            behind.map(|first| self.start_of(first).unwrap_or(now).max(now.later_by(Duration::from_secs(1))));
        let from = not_before.map_or(from, |later| later.max(from));
        first_slot(&self.pods, &self.allowed, wish, from, self.above(wish.rank))
    }

    /// The first time, not before `from`, at which all these jobs can start together, with all plans before them
    /// fulfilled in time.
    pub(crate) fn start_together(&self, wishes: &[Wish], from: Seconds) -> Option<Seconds> {
        let above = wishes.iter().map(|wish| self.above(wish.rank)).min()?;
        let mut largest_first: Vec<_> = wishes.iter().collect();
        largest_first.sort_by_key(|wish| Reverse(wish.size));
        let mut start = from;
        loop {
            let mut pods: Vec<_> = self.pods.iter().map(|pod| pod.with_plans(above)).collect();
            let before = start;
            for (n, wish) in largest_first.iter().enumerate() {
                let (pod, slot) = first_slot(&pods, &self.allowed, wish, start, above + n)?;
                start = slot.start;
                // The others start beside it, not after its end.
                pods[pod].keep(above + n, slot, NEVER);
            }
            if start == before {
                return Some(start);
            }
        }
    }

    /// The first of these Pods, each with room, on which a job may start now. The error is the job whose plan
    /// it pushes back on all of them.
    pub(crate) fn harmless_pod(
        &self,
        with_room: &[usize],
        wish: &Wish,
        now: Seconds,
        is_explicit: bool,
    ) -> Result<usize, u32> {
        let mut in_the_way = Vec::new();
        for pod in with_room {
            let harmless = match is_explicit {
                true => self.harmless_place(*pod, wish, now).map(drop),
                false => self.leaves_alone(*pod, wish, now),
            };
            match harmless {
                Ok(()) => return Ok(*pod),
                Err(job) => in_the_way.push(job),
            }
        }
        let soonest = in_the_way.into_iter().min_by_key(|job| self.start_of(*job).unwrap_or(NEVER));
        Err(soonest.unwrap_or(wish.job()))
    }

    /// Whether a job may start now as far as all but its IPUs is concerned.
    pub(crate) fn is_allowed(&self, wish: &Wish, now: Seconds) -> bool {
        self.allowed.first(&self.pods, wish, now, self.above(wish.rank)) == Some(now)
    }

    /// The Pods with room for a job now, by number.
    pub(crate) fn with_room(&self, wish: &Wish, now: Seconds) -> Vec<usize> {
        let has_room =
            |(_, pod): &(usize, &Timeline)| is_for(pod, wish) && !pod.places_now(wish.size, now).is_empty();
        self.pods.iter().enumerate().filter(has_room).map(|(n, _)| n).collect()
    }

    /// Whether a partition for this job on one of the Pods pushes back no plan before it in line, wherever it
    /// is put. The error is the job whose plan it pushes back.
    ///
    /// For the first job in line the answer is exact. Places are tried by kind ([`Timeline::places_now`]),
    /// and the fit of plans behind each other may depend on more than the kind.
    pub(crate) fn leaves_alone(&self, pod: usize, wish: &Wish, now: Seconds) -> Result<(), u32> {
        let (above, end) = (self.above(wish.rank), now.later_by(wish.duration));
        let over_in_time = |laid: &Laid| laid.start.is_none_or(|start| end <= start);
        if self.plans[..above].iter().all(over_in_time) {
            return Ok(());
        }
        let places = self.pods[pod].places_now(wish.size, now);
        let pushed = places.iter().find_map(|place| self.pushed_back(pod, place, end, above));
        pushed.map_or(Ok(()), Err)
    }

    /// A place for this job's partition that pushes back no plan before it and breaks up as little as
    /// possible. The error is the job whose plan is in the way.
    pub(crate) fn harmless_place(&self, pod: usize, wish: &Wish, now: Seconds) -> Result<Ipus, u32> {
        let (above, end) = (self.above(wish.rank), now.later_by(wish.duration));
        let mut in_the_way = wish.job();
        for place in self.pods[pod].places_now(wish.size, now) {
            match self.pushed_back(pod, &place, end, above) {
                None => return Ok(place),
                Some(job) => in_the_way = job,
            }
        }
        // Places stand for others of their kind, but the result may differ among them. The place of the
        // forecast is harmless.
        let slot = self.pods[pod].earliest(wish.size, wish.duration, now, above);
        slot.filter(|slot| slot.start == now).map(|slot| slot.ipus).ok_or(in_the_way)
    }

    /// The time at which the present holders of these IPUs of the first Pod will be gone. None without a Pod.
    pub(crate) fn block_free_at(&self, ipus: &Range<usize>) -> Option<Seconds> {
        Some(self.pods.first()?.block_free_at(ipus))
    }

    /// The fewest candidates on one of the Pods, by number, that have to go for this job to get a block there.
    /// No plan before it may hold that block.
    pub(crate) fn fewest(&self, pod: usize, after: &[AfterPreemption], wish: &Wish) -> Option<Vec<usize>> {
        let (above, pod) = (self.above(wish.rank), &self.pods[pod]);
        if is_for(pod, wish) { preempt::fewest(pod, after, wish.size, above) } else { None }
    }

    /// The number of plans before this rank.
    fn above(&self, rank: Rank) -> usize {
        self.plans.partition_point(|laid| laid.plan.wish.rank > rank)
    }

    /// The first of the `above` plans that would start later if these IPUs were taken until `end`.
    fn pushed_back(&self, pod: usize, place: &Ipus, end: Seconds, above: usize) -> Option<u32> {
        if !self.pods[pod].is_kept_before(place, end, above) {
            return None; // Each plan can keep its slot.
        }
        let mut pods: Vec<_> = self.pods.iter().map(|pod| pod.with_plans(0)).collect();
        pods[pod].keep(0, Slot { start: FREE, ipus: place.clone() }, end);
        let mut plans = self.plans[..above].iter().zip(1..);
        let pushed = plans.find(|(Laid { plan, start }, n)| {
            let later = lay_one(&mut pods, &self.allowed, plan, *n);
            later.unwrap_or(NEVER) > start.unwrap_or(NEVER)
        });
        pushed.map(|(laid, _)| laid.plan.wish.job())
    }
}

/// Gives the plan of this number the first slot that the plans before it leave, and returns its start.
fn lay_one(pods: &mut [Timeline], allowed: &AllowedStarts, plan: &Plan, n: usize) -> Option<Seconds> {
    let (pod, slot) = first_slot(pods, allowed, &plan.wish, plan.not_before, n)?;
    let start = slot.start;
    pods[pod].keep(n, slot, start.later_by(plan.wish.duration));
    Some(start)
}

/// Whether a job may get IPUs of this Pod.
fn is_for(pod: &Timeline, wish: &Wish) -> bool {
    pod.controller().is_none_or(|controller| wish.may_use(controller))
}

fn start_of(plans: &[Laid], job: u32) -> Option<Seconds> {
    plans.iter().find(|laid| laid.plan.wish.job() == job)?.start
}

/// The first slot on any Pod beside the slots of the `above` plans of highest rank, at a time at which the job
/// may start.
fn first_slot(
    pods: &[Timeline],
    allowed: &AllowedStarts,
    wish: &Wish,
    mut from: Seconds,
    above: usize,
) -> Option<(usize, Slot)> {
    loop {
        let slot =
            |(n, pod): (usize, &Timeline)| Some((n, pod.earliest(wish.size, wish.duration, from, above)?));
        let own = pods.iter().enumerate().filter(|(_, pod)| is_for(pod, wish));
        let first = own.filter_map(slot).min_by_key(|(n, slot)| (slot.start, *n))?;
        let start = allowed.first(pods, wish, first.1.start, above)?;
        if start == first.1.start {
            return Some(first);
        }
        // The slot may be taken by then.
        from = start;
    }
}

#[cfg(test)]
mod tests;
