//! StateSaveLocation.

use crate::facts::Facts;
use crate::finding::Finding;

/// The free bytes below which the journal may soon find no room.
const LITTLE: u64 = 100 << 20;

/// The disk has room for the journal.
pub(super) fn disk(facts: &Facts) -> Vec<Finding> {
    let Some(state) = facts.state.as_ref().filter(|state| state.free < LITTLE) else { return Vec::new() };
    let what =
        format!("{} MiB are free; without room for the journal no job with IPUs starts", state.free >> 20);
    vec![Finding::error(state.path.display().to_string(), what, "make room on the disk of StateSaveLocation")]
}

/// The journal was never damaged, and its entries reach the disk.
pub(super) fn journal(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(state) = facts.state.as_ref().filter(|state| state.has_damaged_journal) {
        let path = state.path.join("vipu_journal.bad").display().to_string();
        let what = "slurmctld once found a damaged journal, and put it aside";
        findings.push(Finding::warning(
            &path,
            what,
            format!("look for partitions without a job, then rm {path}"),
        ));
    }
    let lag = facts.status.as_ref().map_or(0.0, |status| status.counters.journal.lag);
    if lag > 10.0 {
        let what = format!("an entry of the journal is not on disk after {lag:.0} s");
        findings.push(Finding::error("vipu_journal", what, "look at the disk of StateSaveLocation"));
    }
    findings
}
