//! What users are told who wait at a terminal while their partition is made.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use ledger::Claim;
use tokio::time::{Instant, sleep};
use vipu_types::Ipus;

/// No create is late before this, however fast the one before was.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is said of a partition that is being made.
pub(crate) fn creating(claim: &Claim) -> String {
    format!("vipu: creating partition {}: {} on {}", claim.partition, Ipus(claim.size), claim.model)
}

/// Says that the partition is being made, and once more when that takes longer than it `usually` does. Never ends.
pub(crate) async fn announce(claim: &Claim, usually: Option<Duration>, tell: impl Fn(String)) -> Infallible {
    let began = Instant::now();
    let line = creating(claim);
    tell(line.clone());
    sleep(usually.map_or(PATIENCE, |usually| PATIENCE.max(2 * usually))).await;
    let usually = usually.map(|usually| format!(", usually {:.1} s", usually.as_secs_f64()));
    tell(format!("{line}, {:.0} s{}", began.elapsed().as_secs_f64(), usually.unwrap_or_default()));
    pending().await
}
