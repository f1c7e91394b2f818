//! How often, and by whom, waiting jobs are looked at.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Seconds between two passes of the main scheduler when nothing happens (`sched_interval`, its default).
const MAIN_INTERVAL: i64 = 60;

/// Seconds that a pass on a large cluster may well take.
const AT_LEAST: i64 = 10;

/// Who looks: with sched/builtin the main scheduler alone.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    backfill_interval: AtomicI64,
    by_backfill: AtomicBool,
}

impl Looks {
    /// Takes `bf_interval`, in seconds.
    pub(crate) fn set_backfill_interval(&self, seconds: i64) {
        self.backfill_interval.store(seconds, Ordering::Relaxed);
    }

    /// Backfill has looked at a job.
    pub(crate) fn saw_backfill(&self) {
        self.by_backfill.store(true, Ordering::Relaxed);
    }

    /// Seconds without a look after which a job is taken to be out of the line: two intervals.
    pub(crate) fn patience(&self) -> i64 {
        let by_backfill = self.by_backfill.load(Ordering::Relaxed);
        let interval =
            if by_backfill { self.backfill_interval.load(Ordering::Relaxed) } else { MAIN_INTERVAL };
        (2 * interval).max(AT_LEAST)
    }
}
