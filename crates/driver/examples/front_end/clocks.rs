//! The ledger's clock, and that of the jobs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ledger::{Millis, Seconds};

use crate::Result;

pub fn since(start: Instant) -> Millis {
    Millis(u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
}

pub fn unix_time() -> Result<Seconds> {
    Ok(Seconds(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?))
}
