//! Clocks.

use crate::facts::Facts;
use crate::finding::Finding;

/// The difference in seconds that two clocks may have.
const MOST: i64 = 5;

/// The status document is not from the future.
pub(super) fn status_time(facts: &Facts) -> Vec<Finding> {
    let Some(status) = &facts.status else { return Vec::new() };
    let ahead = status.written - facts.now;
    if ahead <= MOST {
        return Vec::new();
    }
    let what =
        format!("it was written {ahead} s in the future: the clocks of this host and slurmctld's differ");
    vec![Finding::warning("vipu_status.json", what, "let chrony or ntpd set both clocks")]
}
