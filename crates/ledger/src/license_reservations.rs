//! Reservations of the licence that counts a model's IPUs. They keep a number of IPUs free, not a block.

use std::time::Duration;

use crate::Seconds;
use crate::free_times::{NEVER, Timeline};
use crate::waiting_line::Wish;

/// A time in which a reservation keeps IPUs free for its own jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LicenseReservation {
    /// The start.
    pub from: Seconds,
    /// The end.
    pub until: Seconds,
    /// The number of IPUs.
    pub ipus: u32,
}

/// The reservations of one model's licence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LicenseReservations {
    /// The number of the licence that the cluster has.
    pub total: u32,
    /// The reservations. None if the model has no licence, too.
    pub reserved: Vec<LicenseReservation>,
}

impl LicenseReservations {
    /// The number of IPUs that reservations keep free for others during a job at this time.
    fn kept_free(&self, start: Seconds, duration: Duration) -> u32 {
        let end = start.later_by(duration);
        let overlap = self.reserved.iter().filter(|it| it.from < end && start < it.until);
        overlap.fold(0, |sum, it| sum.saturating_add(it.ipus))
    }
}

/// The licences of one model in time.
#[derive(Clone, Debug)]
pub(crate) struct LicenseTimes {
    reservations: LicenseReservations,
    /// The times at which the jobs of today give back each of their licences, in order.
    ends: Vec<Seconds>,
}

impl LicenseTimes {
    pub(crate) fn new(reservations: LicenseReservations, pods: &[Timeline]) -> Self {
        let mut ends = Vec::new();
        if !reservations.reserved.is_empty() {
            // Strangers and faults have no end, and no licence.
            ends.extend(pods.iter().flat_map(Timeline::ends).filter(|end| *end != NEVER));
            ends.sort_unstable();
        }
        Self { reservations, ends }
    }

    /// The first time, not before `from`, at which Slurm gives a job its licences. `pods` have the plans, of
    /// which the `above` first take licences before it. None if there is no such time.
    ///
    /// Slurm looks at the licences that are in use at the start, and at the reservations during the whole job.
    pub(crate) fn first_time(
        &self,
        pods: &[Timeline],
        wish: &Wish,
        from: Seconds,
        above: usize,
    ) -> Option<Seconds> {
        if self.reservations.reserved.is_empty() || wish.rank.in_reservation {
            return Some(from);
        }
        let planned = |at| pods.iter().map(|pod| pod.planned_ipus(at, above)).sum::<usize>();
        let in_use = |at| self.ends.len() - self.ends.partition_point(|end| *end <= at) + planned(at);
        let fits = |at: &Seconds| {
            let kept_free = self.reservations.kept_free(*at, wish.duration) as usize;
            in_use(*at) + wish.size.get() as usize + kept_free <= self.reservations.total as usize
        };
        let of_plans = pods.iter().flat_map(|pod| pod.plan_ends(above));
        let of_reservations = self.reservations.reserved.iter().map(|it| it.until);
        let ends = self.ends.iter().copied().chain(of_plans).chain(of_reservations);
        let mut times: Vec<_> = ends.filter(|end| *end > from).chain([from]).collect();
        times.sort_unstable();
        times.dedup();
        times.into_iter().find(fits)
    }
}
