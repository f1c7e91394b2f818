//! The times at which jobs of one model may start, as far as all but IPUs is concerned.

use super::Timeline;
use crate::license_reservations::{LicenseTimes, Licenses};
use crate::waiting_line::Wish;
use crate::{Seconds, WholeTimes};

/// What jobs of one model need beside IPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherNeeds {
    /// The licences.
    pub licenses: Licenses,
    /// The times in which only the largest jobs run.
    pub whole_times: WholeTimes,
}

/// The times at which jobs may start.
#[derive(Clone, Debug)]
pub(super) struct AllowedStarts {
    licenses: LicenseTimes,
    whole_times: WholeTimes,
}

impl AllowedStarts {
    pub(super) fn new(needs: OtherNeeds) -> Self {
        Self { licenses: LicenseTimes::new(needs.licenses), whole_times: needs.whole_times }
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
            let start = self.whole_times.first_start(wish.size, wish.duration, from)?;
            from = self.licenses.first_time(pods, wish, start, above)?;
            if from == start {
                return Some(start);
            }
        }
    }
}
