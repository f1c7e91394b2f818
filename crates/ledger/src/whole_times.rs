//! Times in which only jobs with all IPUs of a Pod run (WholeTimes).

use std::sync::Arc;
use std::time::Duration;

use vipu_types::IpuCount;

use crate::Seconds;

/// The times of one model in which only the largest jobs run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeTimes {
    /// The size of the jobs that run in these times.
    pub whole: IpuCount,
    /// The times, in the order of their starts.
    pub times: Arc<[WholeTime]>,
    /// The end of the period for which the times are known.
    pub known_until: Seconds,
}

/// A time in which only the largest jobs run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeTime {
    /// The start.
    pub from: Seconds,
    /// The end.
    pub until: Seconds,
    /// The time as the administrator wrote it.
    pub text: String,
}

impl Default for WholeTimes {
    /// No times.
    fn default() -> Self {
        Self { whole: IpuCount::ONE, times: Arc::from([]), known_until: Seconds(i64::MAX) }
    }
}

impl WholeTimes {
    /// The first start, not before `from`, with which a job is over before each of the times, or begins after it.
    /// None if there is none in the period that is known.
    pub(crate) fn first_start(&self, size: IpuCount, duration: Duration, from: Seconds) -> Option<Seconds> {
        if self.times.is_empty() || size >= self.whole {
            return Some(from);
        }
        let start = self.times.iter().fold(from, |start, time| {
            if time.overlaps(start, start.later_by(duration)) { time.until } else { start }
        });
        (start.later_by(duration) <= self.known_until).then_some(start)
    }

    /// The first of the times that a job would run into, if it started at this time.
    pub(crate) fn in_the_way(
        &self,
        size: IpuCount,
        duration: Duration,
        start: Seconds,
    ) -> Option<&WholeTime> {
        let end = start.later_by(duration);
        self.times.iter().find(|time| size < self.whole && time.overlaps(start, end))
    }
}

impl WholeTime {
    fn overlaps(&self, start: Seconds, end: Seconds) -> bool {
        self.from < end && start < self.until
    }
}
