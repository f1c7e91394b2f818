//! The two clocks: the caller's and Slurm's.

use std::time::Duration;

/// A point in time, in milliseconds since an epoch that the caller chooses. The ledger has no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

/// A point in time, in seconds since the Unix epoch, as Slurm counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(pub i64);

impl Seconds {
    /// The time a span later, or the last possible time if that is beyond the range.
    pub fn later_by(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_secs()).unwrap_or(i64::MAX)))
    }

    /// The span since an earlier time. Zero if that time is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        span(self.0.saturating_sub(earlier.0))
    }
}

/// A span of this number of Slurm's seconds. Zero if the number is negative.
pub fn span(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}
