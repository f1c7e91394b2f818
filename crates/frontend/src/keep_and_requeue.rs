//! Remedies for jobs that fail or end: `--ipu-keep` and `--ipu-requeue-on`.
//!
//! The pause before the next run is the job's begin time. Slurm counts the runs and saves both.
//!
//! Slurm takes a job's nodes after it has set the final state and exit code (`_job_complete`,
//! `_job_timed_out` in job_mgr.c, 22.05), so job_fini sees both. A requeued job is PENDING by then, or not
//! COMPLETING.

use std::time::Duration;

use ledger::{Claim, Seconds};
use tracing::{info, warn};
use vipu_types::{AfterFailure, Asked, Grant, JobOption, JobRun, ModelName, RequeueOn, RunEnd, Words, words};

use crate::clocks_and_queues::{HostTask, Outside};
use crate::frontend::Frontend;
use crate::models::FailureLimits;
use crate::show_partition;
use crate::slurm::{Job, JobMut, Locked, leader_of};

/// The end of a run that nobody cancelled.
fn end_by_itself(job: impl Job) -> Option<RunEnd> {
    job.run_end().filter(|end| *end != RunEnd::Cancelled)
}

/// The remedy for one job.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    Requeue,
    Keep(Duration),
    Nothing,
}

impl FailureLimits {
    fn remedy(self, asked: AfterFailure, end: RunEnd, may_be_requeued: bool, restarts: u16) -> Remedy {
        let is_meant = asked.requeue_on.includes(end);
        match asked.keep.map(|keep| keep.min(self.keep)) {
            _ if is_meant && may_be_requeued && u32::from(restarts) < self.requeues => Remedy::Requeue,
            Some(keep) if end != RunEnd::Completed && !keep.is_zero() => Remedy::Keep(keep),
            _ => Remedy::Nothing,
        }
    }

    /// Checks the request against the limits. The notice says that the job gets less than asked for.
    fn check(self, asked: AfterFailure, model: &ModelName) -> Result<Option<String>, Words> {
        if asked.requeue_on != RequeueOn::NEVER && self.requeues == 0 {
            return Err(words!(
                "vipu: --ipu-requeue-on: jobs on {model} are not requeued here (MaxRequeues=0 in vipu.conf): leave it out"
            ));
        }
        match asked.keep {
            Some(_) if self.keep.is_zero() => Err(words!(
                "vipu: --ipu-keep: no partition of {model} stays after its job here (MaxKeep=0 in vipu.conf): leave it out"
            )),
            Some(keep) if keep > self.keep => Ok(Some(format!(
                "vipu: --ipu-keep: a partition of {model} stays for at most {} s (MaxKeep)",
                self.keep.as_secs()
            ))),
            _ => Ok(None),
        }
    }
}

/// Checks the remedies that a new job asks for. Both the error and the notice are lines for the user.
pub(crate) fn check(
    limits: FailureLimits,
    options: &[String],
    model: &ModelName,
) -> Result<Option<String>, Words> {
    limits.check(asked(options), model)
}

/// Chooses the remedy for a run that has ended, and has its job requeued if that is the remedy. Returns the
/// time until which the partition stays, if it stays.
pub(crate) fn at_end(
    frontend: &Frontend,
    job: &mut impl JobMut,
    claim: &Claim,
    was_launched: bool,
) -> Option<Seconds> {
    let end = end_by_itself(**job).filter(|_| was_launched && job.is_completing())?;
    let asked = asked(&job.options(JobOption::PREFIX));
    if asked == AfterFailure::NONE {
        return None;
    }
    let limits = frontend.models().failure_limits(&claim.model);
    let (restarts, ended) = (job.restart_count(), end_of(**job, frontend.outside()));
    let is_long = ended.since(Seconds(job.start_time())) > limits.pause.longest;
    let variable = short_runs_variable(job.id());
    let short_runs = short_runs(job.environment(&variable).as_deref(), restarts, is_long);
    let begin = ended.later_by(limits.pause.after(short_runs.into()));
    // Slurm would end a job that waits beyond its deadline.
    let in_time = job.deadline().is_none_or(|deadline| begin.0 < deadline);
    match limits.remedy(asked, end, in_time && job.may_be_requeued(), restarts) {
        Remedy::Nothing => None,
        Remedy::Requeue => {
            job.set_environment(&variable, &format!("{restarts} {short_runs}"));
            let (times, most) = (u32::from(restarts) + 1, limits.requeues);
            let time = frontend.outside().local_time(begin);
            let text = format!(
                "vipu: {end}: requeued, {times} of at most {most} times, next run from {time} (--ipu-requeue-on)"
            );
            info!("{}: {text}", claim.run);
            show_partition::comment(job, &text);
            frontend.outside().ask_host(HostTask::Requeue(claim.run, begin));
            None
        }
        Remedy::Keep(keep) => {
            let until = ended.later_by(keep);
            let (partition, time) = (&claim.partition, frontend.outside().local_time(until));
            let text = format!("vipu: partition {partition} is kept until {time} (--ipu-keep)");
            info!("{}: {text}", claim.run);
            show_partition::comment(job, &text);
            Some(until)
        }
    }
}

/// The variable with the run that was requeued last, and the number of short runs in a row before it. Slurm saves it
/// with the job.
fn short_runs_variable(job: u32) -> String {
    format!("{}_SHORT_RUNS", Grant::variable(job))
}

/// The number of short runs in a row before run `restarts`, by the variable's value. After a long run, and after a
/// requeue for another cause, the count begins at 0.
fn short_runs(stored: Option<&str>, restarts: u16, is_long: bool) -> u16 {
    let numbers = |text: &str| {
        let (run, count) = text.split_once(' ')?;
        Some((run.parse::<u16>().ok()?, count.parse::<u16>().ok()?))
    };
    match stored.and_then(numbers).filter(|_| !is_long) {
        // A later slurmctld asks again about the same run.
        Some((run, count)) if run == restarts => count,
        Some((run, count)) if run.checked_add(1) == Some(restarts) => count.saturating_add(1),
        _ => 0,
    }
}

/// Requeues the job of a run that has ended, unless it was requeued already. It begins at `begin` at the
/// earliest. Returns whether it is requeued.
pub(crate) fn requeue(slurm: &mut impl Locked, run: JobRun, begin: Seconds) -> bool {
    let seen = slurm.job(run.job).filter(|job| job.restart_count() == run.restart);
    let Some(job) = seen.filter(|job| end_by_itself(**job).is_some()) else { return false };
    let whole = leader_of(*job);
    drop(job);
    let is_back = slurm.requeue_until(whole, begin);
    if !is_back {
        warn!("{run}: Slurm does not requeue it");
    }
    is_back
}

/// The time at which a job ended. A later slurmctld that finds it COMPLETING computes the same time.
fn end_of(job: impl Job, outside: &dyn Outside) -> Seconds {
    Seconds(job.end_time()).min(outside.unix_time())
}

/// Options that could not be read at submit count as none.
fn asked(options: &[String]) -> AfterFailure {
    let asked = Asked::read(options.iter().map(String::as_str)).unwrap_or_default();
    asked.after_failure
}

#[cfg(test)]
mod tests {
    use vipu_types::RequeuePause;

    use super::*;

    const HERE: FailureLimits = FailureLimits {
        least_keep: Duration::ZERO,
        keep: Duration::from_secs(600),
        requeues: 3,
        pause: RequeuePause { first: Duration::from_secs(10), longest: Duration::from_secs(600) },
    };

    fn asked(keep: Option<u64>, codes: &str) -> AfterFailure {
        let requeue_on = codes.parse().unwrap_or_default();
        AfterFailure { keep: keep.map(Duration::from_secs), requeue_on }
    }

    #[test]
    fn user_requeue_comes_before_keep_up_to_max_requeues() {
        use RunEnd::{Completed, Failed, Otherwise};
        let (both, any) = (asked(Some(60), "42"), asked(Some(60), "any"));
        let kept = Remedy::Keep(Duration::from_secs(60));
        for (asked, end, may, restarts, remedy) in [
            (both, Failed(42), true, 0, Remedy::Requeue),
            (both, Failed(42), true, 2, Remedy::Requeue),
            (both, Failed(42), true, 3, Remedy::Keep(Duration::from_secs(60))),
            (both, Failed(42), false, 0, Remedy::Keep(Duration::from_secs(60))),
            (both, Failed(41), true, 0, Remedy::Keep(Duration::from_secs(60))),
            (both, Otherwise("TIMEOUT"), true, 0, kept),
            (both, Completed, true, 0, Remedy::Nothing),
            (any, Failed(1), true, 2, Remedy::Requeue),
            (any, Otherwise("TIMEOUT"), true, 0, Remedy::Requeue),
            (any, Completed, true, 0, Remedy::Requeue),
            (any, Completed, true, 3, Remedy::Nothing),
            (any, Completed, false, 0, Remedy::Nothing),
            (asked(None, "42"), Failed(41), true, 0, Remedy::Nothing),
            (asked(Some(7200), ""), Failed(1), true, 0, Remedy::Keep(HERE.keep)),
        ] {
            assert_eq!(HERE.remedy(asked, end, may, restarts), remedy, "{asked:?} {end} {may} {restarts}");
        }
        // The site has switched both off since.
        assert_eq!(FailureLimits::default().remedy(both, Failed(42), true, 0), Remedy::Nothing);
    }

    #[test]
    fn user_requeue_pause_grows_with_short_runs_in_a_row() {
        for (stored, restarts, is_long, count) in [
            (None, 0, false, 0),
            (Some("0 0"), 1, false, 1),
            (Some("1 1"), 2, false, 2),
            (Some("1 1"), 1, false, 1),
            (Some("1 1"), 2, true, 0),
            (Some("1 1"), 3, false, 0),
            (Some("65535 0"), 0, false, 0),
            (Some("x"), 1, false, 0),
        ] {
            assert_eq!(short_runs(stored, restarts, is_long), count, "{stored:?} {restarts} {is_long}");
        }
    }

    #[test]
    fn user_keep_is_refused_or_cut_by_max_keep() {
        let model = ModelName::new("pod64").unwrap();
        let answer = |limits: FailureLimits, asked| limits.check(asked, &model);
        assert_eq!(answer(HERE, asked(Some(600), "1-255")), Ok(None));
        assert_eq!(answer(FailureLimits::default(), AfterFailure::NONE), Ok(None));
        let cut = "vipu: --ipu-keep: a partition of pod64 stays for at most 600 s (MaxKeep)";
        assert_eq!(answer(HERE, asked(Some(601), "")), Ok(Some(cut.into())));
        for (asked, line) in [
            (
                asked(Some(1), ""),
                "vipu: --ipu-keep: no partition of pod64 stays after its job here (MaxKeep=0",
            ),
            (asked(None, "1"), "vipu: --ipu-requeue-on: jobs on pod64 are not requeued here (MaxRequeues=0"),
        ] {
            let told = answer(FailureLimits::default(), asked).unwrap_err();
            assert!(told.starts_with(line), "{told}");
        }
    }
}
