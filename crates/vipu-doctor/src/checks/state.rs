//! StateSaveLocation.

use crate::facts::{Facts, State};
use crate::finding::Finding;

/// The free bytes below which the journal may soon find no room.
const LITTLE: u64 = 100 << 20;

/// The disk has room for the journal.
pub(super) fn disk(facts: &Facts) -> Vec<Finding> {
    let Some(state) = &facts.state else { return Vec::new() };
    let room = "make room on the disk of StateSaveLocation";
    let (what, fix) = if state.is_read_only {
        ("its file system is read-only, so that no job with IPUs starts".to_owned(), "mount it for writing")
    } else if state.lacks_inodes {
        (
            "its file system takes no further file (no inodes), so that no job with IPUs starts".to_owned(),
            room,
        )
    } else if state.free < LITTLE {
        let free = state.free >> 20;
        (format!("{free} MiB are free; without room for the journal no job with IPUs starts"), room)
    } else {
        return Vec::new();
    };
    vec![Finding::error(state.path.display().to_string(), what, fix)]
}

/// The journal is whole, was never damaged, and its entries reach the disk.
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
    findings.extend(facts.state.iter().flat_map(journal_file));
    let lag = facts.status.as_ref().map_or(0.0, |status| status.counters.journal.lag);
    if lag > 10.0 {
        let what = format!("an entry of the journal is not on disk after {lag:.0} s");
        findings.push(Finding::error("vipu_journal", what, "look at the disk of StateSaveLocation"));
    }
    findings
}

fn journal_file(state: &State) -> Vec<Finding> {
    let Some(journal) = &state.journal else { return Vec::new() };
    let path = state.path.join("vipu_journal").display().to_string();
    let mut findings = Vec::new();
    match journal.damage.as_deref() {
        Err(why) => {
            findings.push(Finding::error(&path, why, "mend this: until then no job with IPUs starts"))
        }
        Ok([]) => {}
        Ok([first, more @ ..]) => {
            let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            let what = format!("{first}{more}: a slurmctld that starts passes over such a line");
            let fix = "look at the disk of StateSaveLocation, and for partitions without a job after the next start";
            findings.push(Finding::warning(&path, what, fix));
        }
    }
    if let Some(why) = &journal.not_durable {
        let what = format!("what is written to it may not reach the disk: {why}");
        findings.push(Finding::error(path, what, "put StateSaveLocation on a file system that has fsync"));
    }
    findings
}
