//! When Slurm's scheduler has to be woken: as a job may begin that was sent back into the line a moment ago. Nobody else
//! does, so it would wait for backfill or the next pass.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use slurm_host::job::BEGIN_SOON;

/// Slurm's clock has whole seconds; a hair later than that, so as not to come too early.
const MARGIN: Duration = Duration::from_millis(50);

/// The times, soonest first: all lie equally far ahead when they are set.
#[derive(Default)]
pub(crate) struct Wakes(VecDeque<Instant>);

impl Wakes {
    /// A job may begin soon.
    pub(crate) fn set(&mut self, now: Instant) {
        self.0.push_back(now + BEGIN_SOON + MARGIN);
    }

    /// How long until the next.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        self.0.front().map_or(Duration::MAX, |next| next.saturating_duration_since(now))
    }

    /// Whether it is time; once for each time that has come.
    pub(crate) fn are_due(&mut self, now: Instant) -> bool {
        let due = self.0.iter().take_while(|time| **time <= now).count();
        self.0.drain(..due).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_comes_once_and_not_before_the_job_may_begin() {
        let (now, mut wakes) = (Instant::now(), Wakes::default());
        assert_eq!(wakes.pause(now), Duration::MAX);
        wakes.set(now);
        wakes.set(now + MARGIN);
        assert!(wakes.pause(now) > BEGIN_SOON && !wakes.are_due(now + BEGIN_SOON));
        let first = now + wakes.pause(now);
        assert!(wakes.are_due(first) && !wakes.are_due(first));
        assert_eq!(wakes.pause(first), MARGIN);
        assert!(wakes.are_due(first + MARGIN) && !wakes.are_due(first + BEGIN_SOON));
    }
}
