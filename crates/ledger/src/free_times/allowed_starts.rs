//! The times at which jobs of one model may start, as far as all but IPUs is concerned: its licences, and WholeTimes.

use std::time::Duration;

use super::timeline::Timeline;
use crate::waiting_line::Wish;
use crate::{LicenseReservations, Seconds, WholeTimes};

/// What jobs of one model need beside IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherNeeds {
    /// The licences.
    pub licenses: Licenses,
    /// The times in which only the largest jobs run.
    pub whole_times: WholeTimes,
}

/// The licences of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Licenses {
    /// The reservations.
    pub reservations: LicenseReservations,
    /// The numbers that jobs have, each with the end of the job. Only needed with reservations.
    pub in_use: Vec<(Seconds, u32)>,
}

/// The times at which jobs may start.
#[derive(Clone, Debug)]
pub(super) struct AllowedStarts {
    needs: OtherNeeds,
    /// The times, in order, at which jobs give back licences or reservations of licences end. Empty without
    /// reservations.
    license_ends: Vec<Seconds>,
}

impl AllowedStarts {
    pub(super) fn new(needs: OtherNeeds) -> Self {
        let Licenses { reservations, in_use } = &needs.licenses;
        let mut license_ends = Vec::new();
        if !reservations.reserved.is_empty() {
            license_ends.extend(reservations.reserved.iter().map(|it| it.until));
            license_ends.extend(in_use.iter().map(|(end, _)| *end));
            license_ends.sort_unstable();
            license_ends.dedup();
        }
        Self { needs, license_ends }
    }

    /// The first time, not before `from`, at which a job may start. `pods` have the plans, of which the `above`
    /// first take licences before it. None if there is no such time.
    pub(super) fn first(
        &self,
        pods: &[Timeline],
        wish: &Wish,
        mut from: Seconds,
        above: usize,
    ) -> Option<Seconds> {
        loop {
            let start = self.needs.whole_times.first_start(wish.size, wish.duration, from)?;
            from = self.first_with_licenses(pods, wish, start, above)?;
            if from == start {
                return Some(start);
            }
        }
    }

    /// The first time, not before `from`, at which Slurm gives a job its licences.
    ///
    /// Slurm looks at the licences that are in use at the start, and at the reservations during the whole job. It
    /// leaves out the job's own reservation. Here a job with a reservation leaves out all of them.
    fn first_with_licenses(
        &self,
        pods: &[Timeline],
        wish: &Wish,
        from: Seconds,
        above: usize,
    ) -> Option<Seconds> {
        if self.license_ends.is_empty() || wish.rank.in_reservation {
            return Some(from);
        }
        let licenses = &self.needs.licenses;
        let planned = |at| pods.iter().map(|pod| pod.planned_ipus(at, above)).sum::<u64>();
        let fits = |at: &Seconds| {
            let needed = licenses.in_use_at(*at) + licenses.kept_free(*at, wish.duration) + planned(*at);
            needed + u64::from(wish.size.get()) <= licenses.reservations.total.into()
        };
        if fits(&from) {
            return Some(from);
        }
        let later = &self.license_ends[self.license_ends.partition_point(|end| *end <= from)..];
        let of_plans = pods.iter().flat_map(|pod| pod.plan_ends(above)).filter(|end| *end > from);
        let first = later.iter().copied().find(fits);
        first.into_iter().chain(of_plans.filter(fits)).min()
    }
}

impl Licenses {
    /// The number that the jobs of today still have at this time.
    fn in_use_at(&self, at: Seconds) -> u64 {
        self.in_use.iter().filter(|(end, _)| *end > at).map(|(_, ipus)| u64::from(*ipus)).sum()
    }

    /// The number that reservations keep free during a job at this time.
    fn kept_free(&self, start: Seconds, duration: Duration) -> u64 {
        let end = start.later_by(duration);
        let overlap = self.reservations.reserved.iter().filter(|it| it.from < end && start < it.until);
        overlap.map(|it| u64::from(it.ipus)).sum()
    }
}
