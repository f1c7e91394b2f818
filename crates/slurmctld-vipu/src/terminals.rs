//! What users hear at their terminals while their job waits in line: the reason that squeue has, once it has waited for some
//! seconds, and again when it waits for something else. srun and salloc listen from before their job is submitted.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use slurm_host::locks::HostThread;

/// How long a job may wait without a word.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often at most its user hears another reason.
const PERIOD: Duration = Duration::from_secs(60);

/// Who is due so soon is told with who is due now, under one lock.
const TOGETHER: Duration = Duration::from_secs(1);

/// A job that waits with its user at a terminal.
struct Waiting {
    reason: String,
    told: Option<String>,
    next: Instant,
}

/// All of them, by job.
#[derive(Default)]
pub(crate) struct Terminals(HashMap<u32, Waiting>);

impl Terminals {
    /// The job waits for this reason, the one that squeue shows now.
    pub(crate) fn waits(&mut self, job: u32, reason: &str, now: Instant) {
        let new = || Waiting { reason: String::new(), told: None, next: now + PATIENCE };
        let waiting = self.0.entry(job).or_insert_with(new);
        if waiting.reason != reason {
            reason.clone_into(&mut waiting.reason);
        }
    }

    /// How long until the next look.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let next = self.0.values().map(|waiting| waiting.next).min();
        next.map_or(Duration::MAX, |next| next.saturating_duration_since(now))
    }

    /// Tells those whose time has come, and forgets those that wait no longer.
    pub(crate) fn look(&mut self, slurm: &mut HostThread) {
        let now = Instant::now();
        if !self.pause(now).is_zero() {
            return;
        }
        let mut slurm = slurm.write();
        let due = self.due(now, |job| slurm.job(job).filter(|job| job.waits_in_line())?.reason());
        for (job, line) in due {
            slurm.tell_terminal(job, &line);
        }
    }

    /// What there is to tell, where `shown` is the reason of a job that still waits in line.
    fn due(&mut self, now: Instant, mut shown: impl FnMut(u32) -> Option<String>) -> Vec<(u32, String)> {
        let mut lines = Vec::new();
        self.0.retain(|job, waiting| {
            if waiting.next > now + TOGETHER {
                return true;
            }
            waiting.next = now + PERIOD;
            if shown(*job).as_deref() != Some(waiting.reason.as_str()) {
                return false;
            }
            let kind = kind(&waiting.reason);
            if waiting.told.as_ref() != Some(&kind) {
                let why = waiting.reason.strip_prefix("vipu: ").unwrap_or(&waiting.reason);
                lines.push((*job, format!("vipu: job {job} waits: {why}")));
                waiting.told = Some(kind);
            }
            true
        });
        lines
    }
}

/// A reason without its numbers: how many IPUs are free at a moment makes it no other one.
fn kind(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "vipu: 64 IPUs of pod64 needed, 0 free, largest block 0";
    const LESS_FULL: &str = "vipu: 64 IPUs of pod64 needed, 32 free, largest block 16";
    const AWAY: &str = "vipu: pod64: controller x:8090: connection refused";

    #[test]
    fn a_job_is_told_after_some_seconds_once() {
        let (now, mut terminals) = (Instant::now(), Terminals::default());
        assert_eq!(terminals.pause(now), Duration::MAX);
        terminals.waits(7, FULL, now);
        terminals.waits(7, FULL, now + PATIENCE / 2);
        assert_eq!(terminals.pause(now), PATIENCE);
        let shown = |_| Some(FULL.to_owned());
        let told = terminals.due(now + PATIENCE, shown);
        assert_eq!(
            told,
            [(7, "vipu: job 7 waits: 64 IPUs of pod64 needed, 0 free, largest block 0".to_owned())]
        );
        assert_eq!(terminals.pause(now + PATIENCE), PERIOD);
        assert_eq!(terminals.due(now + PATIENCE + PERIOD, shown), []);
    }

    #[test]
    fn another_reason_is_told_within_a_minute_and_other_numbers_are_none() {
        let (now, mut terminals) = (Instant::now(), Terminals::default());
        terminals.waits(7, FULL, now);
        terminals.due(now + PATIENCE, |_| Some(FULL.to_owned()));
        terminals.waits(7, LESS_FULL, now + PATIENCE * 2);
        assert_eq!(terminals.due(now + PATIENCE + PERIOD, |_| Some(LESS_FULL.to_owned())), []);
        terminals.waits(7, AWAY, now + PATIENCE * 2 + PERIOD);
        assert_eq!(terminals.due(now + PATIENCE * 2 + PERIOD, |_| Some(AWAY.to_owned())), []);
        assert_eq!(terminals.due(now + PATIENCE + 2 * PERIOD, |_| Some(AWAY.to_owned())).len(), 1);
    }

    #[test]
    fn who_waits_no_longer_or_for_something_else_is_forgotten() {
        let (now, mut terminals) = (Instant::now(), Terminals::default());
        terminals.waits(7, FULL, now);
        terminals.waits(8, FULL, now);
        let shown = |job| (job == 7).then(|| "Dependency".to_owned());
        assert_eq!(terminals.due(now + PATIENCE, shown), []);
        assert_eq!(terminals.pause(now), Duration::MAX);
    }
}
