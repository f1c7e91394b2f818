//! Messages at users' terminals while their jobs wait in line. A user is told the reason in full after some
//! seconds, and again when the job waits for something else. srun and salloc listen from before their job is
//! submitted.

use std::collections::HashMap;
use std::time::Duration;

use ledger::Millis;

use super::reason_recheck::ReasonRecheck;
use super::watch_list::after;
use crate::frontend::Frontend;
use crate::slurm::{Job, Locked, Slurm};

/// The time for which a job waits before its user is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shortest time between two messages to a user.
const PERIOD: Duration = Duration::from_secs(60);

/// Messages that are due within this time are sent together, under one lock.
const TOGETHER: Duration = Duration::from_secs(1);

/// A job that waits with its user at a terminal.
struct Waiting {
    /// The kind of the reason that the user was told last.
    told: Option<String>,
    next: Millis,
}

/// All waiting jobs with a terminal, by job.
#[derive(Default)]
pub(super) struct Terminals(HashMap<u32, Waiting>);

impl Terminals {
    /// Notes that squeue shows a reason of slurm-vipu for this job.
    pub(super) fn waits(&mut self, job: u32, now: Millis) {
        self.0.entry(job).or_insert_with(|| Waiting { told: None, next: after(now, PATIENCE) });
    }

    /// The time of the next look.
    pub(super) fn next(&self) -> Option<Millis> {
        self.0.values().map(|waiting| waiting.next).min()
    }

    /// Tells the users whose time has come, and forgets jobs that do not wait any more.
    pub(super) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, reasons: &ReasonRecheck) {
        let now = frontend.now();
        if self.next().is_none_or(|next| next > now) {
            return;
        }
        let mut slurm = slurm.write();
        if frontend.is_closed() {
            return;
        }
        let due = self.due(now, |job| {
            let job = slurm.job(job).filter(|job| job.waits_in_line())?;
            Some(reasons.in_full(*job).unwrap_or_default())
        });
        for (job, line) in due {
            slurm.tell_terminal(job, &line);
        }
    }

    /// The messages that are due. `shown` gives the reason of a job that still waits in line. Slurm clears a
    /// reason now and then until it tests the job again, and that is no change.
    fn due(&mut self, now: Millis, mut shown: impl FnMut(u32) -> Option<String>) -> Vec<(u32, String)> {
        let mut lines = Vec::new();
        self.0.retain(|job, waiting| {
            if waiting.next > after(now, TOGETHER) {
                return true;
            }
            // Slurm may have cleared the reason of a user who was told nothing yet.
            waiting.next = after(now, if waiting.told.is_some() { PERIOD } else { PATIENCE });
            let Some(reason) = shown(*job) else { return false };
            let Some(why) = reason.strip_prefix("vipu: ") else { return true };
            let kind = kind(why);
            if waiting.told.as_ref() != Some(&kind) {
                lines.push((*job, format!("vipu: job {job} waits: {why}")));
                waiting.told = Some(kind);
                waiting.next = after(now, PERIOD);
            }
            true
        });
        lines
    }
}

/// A reason without its numbers. Another number of free IPUs makes no other reason.
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
        let (now, mut terminals) = (Millis(0), Terminals::default());
        assert_eq!(terminals.next(), None);
        terminals.waits(7, now);
        terminals.waits(7, after(now, PATIENCE / 2));
        assert_eq!(terminals.next(), Some(after(now, PATIENCE)));
        let shown = |_| Some(FULL.to_owned());
        let told = terminals.due(after(now, PATIENCE), shown);
        assert_eq!(
            told,
            [(7, "vipu: job 7 waits: 64 IPUs of pod64 needed, 0 free, largest block 0".to_owned())]
        );
        assert_eq!(terminals.next(), Some(after(now, PATIENCE + PERIOD)));
        assert_eq!(terminals.due(after(now, PATIENCE + PERIOD), shown), []);
    }

    #[test]
    fn another_reason_is_told_within_a_minute_but_other_numbers_are_not() {
        let (now, mut terminals) = (Millis(0), Terminals::default());
        terminals.waits(7, now);
        terminals.due(after(now, PATIENCE), |_| Some(FULL.to_owned()));
        assert_eq!(terminals.due(after(now, PATIENCE + PERIOD), |_| Some(LESS_FULL.to_owned())), []);
        assert_eq!(terminals.due(after(now, PATIENCE * 2 + PERIOD), |_| Some(AWAY.to_owned())), []);
        assert_eq!(terminals.due(after(now, PATIENCE + 2 * PERIOD), |_| Some(AWAY.to_owned())).len(), 1);
    }

    #[test]
    fn a_told_reason_is_remembered_while_slurm_shows_none() {
        let (now, mut terminals) = (Millis(0), Terminals::default());
        let mut told = |after, shown: &str| {
            terminals.waits(7, super::after(now, after));
            terminals.due(super::after(now, after), |_| Some(shown.to_owned())).len()
        };
        let times = [PATIENCE, PATIENCE + PERIOD, PATIENCE + 2 * PERIOD];
        told(Duration::ZERO, FULL);
        assert_eq!([told(times[0], FULL), told(times[1], ""), told(times[2], FULL)], [1, 0, 0]);
    }

    #[test]
    fn a_user_is_told_soon_if_slurm_had_cleared_the_first_reason() {
        let (now, mut terminals) = (Millis(0), Terminals::default());
        terminals.waits(7, now);
        assert_eq!(terminals.due(after(now, PATIENCE), |_| Some(String::new())), []);
        assert_eq!(terminals.due(after(now, 2 * PATIENCE), |_| Some(FULL.to_owned())).len(), 1);
        assert_eq!(terminals.next(), Some(after(now, 2 * PATIENCE + PERIOD)));
    }

    #[test]
    fn a_job_that_waits_no_longer_is_forgotten() {
        let (now, mut terminals) = (Millis(0), Terminals::default());
        terminals.waits(7, now);
        assert_eq!(terminals.due(after(now, PATIENCE), |_| None), []);
        assert_eq!(terminals.next(), None);
    }
}
