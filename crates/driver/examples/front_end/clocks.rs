//! The ledger's clock, and that of the jobs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ledger::{Millis, Seconds};

pub fn since(start: Instant) -> Millis {
    Millis(u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
}

pub fn unix_time() -> Seconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
