//! Reservations of the licence that counts a model's IPUs. They keep a number of IPUs free, not a block.

use std::time::Duration;

use crate::Seconds;
use crate::free_times::Timeline;
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

/// The licences of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Licenses {
    /// The reservations.
    pub reservations: LicenseReservations,
    /// The numbers that jobs have, each with the end of the job. Only needed with reservations.
    pub in_use: Vec<(Seconds, u32)>,
}

/// The licences of one model in time.
#[derive(Clone, Debug)]
pub(crate) struct LicenseTimes {
    licenses: Licenses,
    /// The times, in order, at which jobs give back licences or reservations end.
    ends: Vec<Seconds>,
}

impl LicenseTimes {
    pub(crate) fn new(licenses: Licenses) -> Self {
        let reserved = &licenses.reservations.reserved;
        let mut ends = Vec::new();
        if !reserved.is_empty() {
            ends.extend(reserved.iter().map(|it| it.until));
            ends.extend(licenses.in_use.iter().map(|(end, _)| *end));
            ends.sort_unstable();
            ends.dedup();
        }
        Self { licenses, ends }
    }

    /// The first time, not before `from`, at which Slurm gives a job its licences. `pods` have the plans, of
    /// which the `above` first take licences before it. None if there is no such time.
    ///
    /// Slurm looks at the licences that are in use at the start, and at the reservations during the whole job. It
    /// leaves out the job's own reservation. Here a job with a reservation leaves out all of them.
    pub(crate) fn first_time(
        &self,
        pods: &[Timeline],
        wish: &Wish,
        from: Seconds,
        above: usize,
    ) -> Option<Seconds> {
        if self.ends.is_empty() || wish.rank.in_reservation {
            return Some(from);
        }
        let planned = |at| pods.iter().map(|pod| pod.planned_ipus(at, above)).sum::<u64>();
        let fits = |at: &Seconds| {
            let needed = self.in_use(*at) + self.kept_free(*at, wish.duration) + planned(*at);
            needed + u64::from(wish.size.get()) <= self.licenses.reservations.total.into()
        };
        if fits(&from) {
            return Some(from);
        }
        let later = &self.ends[self.ends.partition_point(|end| *end <= from)..];
        let of_plans = pods.iter().flat_map(|pod| pod.plan_ends(above)).filter(|end| *end > from);
        let first = later.iter().copied().find(fits);
        first.into_iter().chain(of_plans.filter(fits)).min()
    }

    /// The number that the jobs of today still have at this time.
    fn in_use(&self, at: Seconds) -> u64 {
        self.licenses.in_use.iter().filter(|(end, _)| *end > at).map(|(_, ipus)| u64::from(*ipus)).sum()
    }

    /// The number that reservations keep free during a job at this time.
    fn kept_free(&self, start: Seconds, duration: Duration) -> u64 {
        let end = start.later_by(duration);
        let overlap =
            self.licenses.reservations.reserved.iter().filter(|it| it.from < end && start < it.until);
        overlap.map(|it| u64::from(it.ipus)).sum()
    }
}
