//! Points in time in the mock's reports.

use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns the time from `earlier` to `self`; zero if `self` is before `earlier`.
    pub fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;
    fn add(self, later: Duration) -> Nanos {
        Nanos(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Wall-clock time at the start, then tokio's clock. It is never set back, and stands still while a test
/// pauses tokio's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started_at: Nanos,
    started: tokio::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started_at: Nanos(0) + since_epoch, started: tokio::time::Instant::now() }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.started_at + self.started.elapsed()
    }
}
