//! Checks whether the reasons that slurm-vipu gave to waiting jobs still hold.
//!
//! Slurm may never come to a job far behind in the line, and the reason of the job may be over for long. For
//! example, a controller answers again, the job that IPUs were kept for is gone, or slurmctld was restarted.
//! Each reason is therefore checked again every few seconds, without a test by Slurm. Here is also what the reasons tell
//! people, of which squeue shows the brief form only.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ledger::Millis;
use tracing::debug;
use vipu_types::Reason;

use super::watch_list::after;
use crate::frontend::Frontend;
use crate::internal_error::OURS;
use crate::internal_error::guard;
use crate::scheduling;
use crate::show_partition::{HELD_HAS_RUN, HELD_NOT_MADE, NOT_MADE};
use crate::slurm::{Job, JobMut, Locked, Slurm};

/// The most jobs that are checked under one lock, which takes less than two milliseconds.
const AT_ONCE: usize = 500;

/// The time until the next check, if all reasons held.
const PAUSE: Duration = Duration::from_secs(3);
/// The time until the next check, if a reason did not hold: others may not hold either.
const SOON: Duration = Duration::from_millis(250);

/// The jobs that show a reason of slurm-vipu, in the order of their next check.
#[derive(Default)]
pub(super) struct ReasonRecheck {
    jobs: VecDeque<u32>,
    /// All these jobs with their reasons, as far as they are known in full.
    known: HashMap<u32, Option<Reason>>,
    next: Millis,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// The job shows no reason of slurm-vipu, or waits for something else.
    Other,
    /// The reason holds. It may tell something else now.
    Holds(Option<Reason>),
    /// Another reason holds, or none.
    Over(Option<Reason>),
}

impl ReasonRecheck {
    /// Adds a job that shows, or may show, a reason of slurm-vipu.
    pub(super) fn watch(&mut self, now: Millis, job: u32) {
        if let Entry::Vacant(unknown) = self.known.entry(job) {
            unknown.insert(None);
            if self.jobs.is_empty() {
                self.next = after(now, PAUSE);
            }
            self.jobs.push_back(job);
        }
    }

    /// Adds a job with its reason. Returns whether that is news.
    pub(super) fn tell(&mut self, now: Millis, job: u32, reason: Reason) -> bool {
        self.watch(now, job);
        let before = self.known.insert(job, Some(reason));
        before.as_ref() != self.known.get(&job)
    }

    /// The reason that squeue shows for a job, in full if it is one of slurm-vipu. That of a failed run is in the comment.
    pub(super) fn in_full(&self, job: impl Job) -> Option<String> {
        let shown = job.shown_reason()?;
        if !shown.starts_with(OURS) {
            return Some(shown);
        }
        let comment = || {
            let comment = job.system_comment()?;
            comment.split("; ").find(|part| part.starts_with(OURS)).map(str::to_owned)
        };
        let known = || self.known.get(&job.id())?.as_ref().filter(|known| known.brief == shown);
        let line = match [NOT_MADE, HELD_NOT_MADE, HELD_HAS_RUN].contains(&&*shown) {
            true => comment(),
            false => known().map(|known| known.line.clone()),
        };
        Some(line.unwrap_or(shown))
    }

    /// The time of the next check.
    pub(super) fn next(&self) -> Option<Millis> {
        (!self.jobs.is_empty()).then_some(self.next)
    }

    /// Checks some jobs if it is time, and shows the reasons that hold now. Returns the jobs whose lines are news.
    pub(super) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) -> Vec<u32> {
        let (now, mut news) = (frontend.now(), Vec::new());
        if self.jobs.is_empty() || now < self.next {
            return news;
        }
        let jobs: Vec<u32> = self.jobs.drain(..AT_ONCE.min(self.jobs.len())).collect();
        let found = slurm.look_at(&jobs, |job| {
            let what = || format!("look at the reason of job {}", job.id());
            guard(&what, Found::Other, || found(frontend, job))
        });
        let mut over = Vec::new();
        for (job, found) in jobs.into_iter().zip(found) {
            match found {
                None | Some(Found::Other) => drop(self.known.remove(&job)),
                Some(Found::Holds(now)) => {
                    self.jobs.push_back(job);
                    if let Some(now) = now.filter(|now| self.tells_else(job, now)) {
                        self.known.insert(job, Some(now));
                        news.push(job);
                    }
                }
                Some(Found::Over(None)) => {
                    self.known.remove(&job);
                    over.push((job, None));
                }
                Some(Found::Over(Some(now))) => {
                    self.jobs.push_back(job);
                    over.push((job, Some(now.brief.clone())));
                    self.known.insert(job, Some(now));
                    news.push(job);
                }
            }
        }
        self.next = after(now, if over.is_empty() { PAUSE } else { SOON });
        if !over.is_empty() {
            show(frontend, slurm, over);
        }
        news
    }
}

impl ReasonRecheck {
    /// Whether a reason tells something else than is known. The known one may go on: others are on their way out.
    fn tells_else(&self, job: u32, now: &Reason) -> bool {
        let known = self.known.get(&job).and_then(Option::as_ref);
        known.is_none_or(|known| !known.line.starts_with(&now.line))
    }
}

fn found(frontend: &Frontend, job: impl Job) -> Found {
    match job.reason() {
        Some(shown) if shown.starts_with(OURS) && job.waits_in_line() => {
            still(&shown, scheduling::reason_now(frontend, job))
        }
        Some(shown) if shown.starts_with(OURS) && job.is_configuring() => Found::Holds(None),
        _ => Found::Other,
    }
}

/// Compares the shown reason with the reason that holds now.
fn still(shown: &str, now: Option<Reason>) -> Found {
    match now {
        Some(now) if shown == now.brief => Found::Holds(Some(now)),
        now => Found::Over(now),
    }
}

/// Shows the reasons that hold now. Each job is looked at again, because Slurm may have tested it since.
fn show(frontend: &Frontend, slurm: &mut impl Slurm, over: Vec<(u32, Option<Cow<'static, str>>)>) {
    let mut slurm = slurm.write();
    if frontend.is_closed() {
        return;
    }
    for (id, now) in over {
        let ours = slurm
            .job(id)
            .filter(|job| job.waits_in_line() && job.reason().is_some_and(|shown| shown.starts_with(OURS)));
        let Some(mut job) = ours else { continue };
        debug!("job {id}: the reason that it shows is over; it is now: {now:?}");
        match now {
            Some(now) => job.set_reason(&now),
            None => job.wait_for_its_turn(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_holds_as_long_as_it_would_be_given_again() {
        let (shown, full) = ("vipu: 16 IPUs of pod64 needed", "vipu: 16 IPUs of pod64 needed, 8 free");
        let holds = Reason::new(shown, full);
        assert_eq!(still(shown, Some(holds.clone())), Found::Holds(Some(holds.clone())));
        let mut reasons = ReasonRecheck::default();
        assert!(reasons.tell(Millis(0), 7, holds.clone().telling(|line| line + "; on their way out")));
        assert!(!reasons.tells_else(7, &holds) && reasons.tells_else(8, &holds));
        assert_eq!(still(shown, None), Found::Over(None));
        let other = Some(Reason::from("vipu: IPUs of pod64 are kept for another job"));
        assert_eq!(still(shown, other.clone()), Found::Over(other));
    }

    #[test]
    fn no_job_is_checked_if_none_waits() {
        let mut reasons = ReasonRecheck::default();
        assert_eq!(reasons.next(), None);
        for job in [1, 2, 1] {
            reasons.watch(Millis(0), job);
        }
        assert_eq!(reasons.jobs, [1, 2]);
        assert_eq!(reasons.next(), Some(after(Millis(0), PAUSE)));
    }
}
