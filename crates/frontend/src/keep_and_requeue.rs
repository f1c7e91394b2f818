//! Remedies for failed jobs: `--ipu-keep` and `--ipu-requeue-on`.
//!
//! Slurm takes a job's nodes after it has set the final state and exit code (`_job_complete`,
//! `_job_timed_out` in job_mgr.c, 22.05), so job_fini sees both. A requeued job is PENDING by then, or not
//! COMPLETING.

use std::time::Duration;

use ledger::{Claim, Seconds};
use tracing::{info, warn};
use vipu_types::{AfterFailure, Asked, JobOption, JobRun, ModelName};

use crate::frontend::Frontend;
use crate::models::FailureLimits;
use crate::outside::{HostTask, Outside};
use crate::slurm::{Job, JobMut, Locked, leader_of};

/// The remedy for one failed job.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    Requeue,
    Keep(Duration),
    Nothing,
}

impl FailureLimits {
    fn remedy(self, asked: AfterFailure, code: Option<u8>, may_be_requeued: bool, restarts: u16) -> Remedy {
        let is_meant = code.is_some_and(|code| asked.requeue_on.contains(code));
        match asked.keep.map(|keep| keep.min(self.keep)) {
            _ if is_meant && may_be_requeued && u32::from(restarts) < self.requeues => Remedy::Requeue,
            Some(keep) if !keep.is_zero() => Remedy::Keep(keep),
            _ => Remedy::Nothing,
        }
    }

    /// Checks the request against the limits. The notice says that the job gets less than asked for.
    fn check(self, asked: AfterFailure, model: &ModelName) -> Result<Option<String>, String> {
        if !asked.requeue_on.is_empty() && self.requeues == 0 {
            return Err(format!(
                "vipu: --ipu-requeue-on: jobs on {model} are not requeued for their exit codes here (MaxRequeues=0 in \
                 vipu.conf): leave it out"
            ));
        }
        match asked.keep {
            Some(_) if self.keep.is_zero() => Err(format!(
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
) -> Result<Option<String>, String> {
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
    if !(was_launched && job.is_completing() && job.has_failed()) {
        return None;
    }
    let asked = asked(&job.options(JobOption::PREFIX));
    if asked == AfterFailure::NONE {
        return None;
    }
    let limits = frontend.models(|models| models.failure_limits(&claim.model));
    let restarts = job.restart_count();
    match limits.remedy(asked, job.failed_with(), job.may_be_requeued(), restarts) {
        Remedy::Nothing => None,
        Remedy::Requeue => {
            let (code, times) = (job.failed_with().unwrap_or_default(), u32::from(restarts) + 1);
            let most = limits.requeues;
            let text = format!(
                "vipu: exit code {code}: requeued, {times} of at most {most} times (--ipu-requeue-on)"
            );
            info!("{}: {text}", claim.run);
            job.add_system_comment(&text);
            frontend.outside().ask_host(HostTask::Requeue(claim.run));
            None
        }
        Remedy::Keep(keep) => {
            let until = end_of(**job, frontend.outside()).0.saturating_add(keep.as_secs().cast_signed());
            let (partition, time) = (&claim.partition, frontend.outside().local_time(Seconds(until)));
            let text = format!("vipu: partition {partition} is kept until {time} (--ipu-keep)");
            info!("{}: {text}", claim.run);
            job.add_system_comment(&text);
            Some(Seconds(until))
        }
    }
}

/// Requeues the job of a failed run, unless it was requeued already.
pub(crate) fn requeue(slurm: &mut impl Locked, run: JobRun) {
    let seen = slurm.job(run.job);
    let Some(job) = seen.filter(|job| job.restart_count() == run.restart && job.has_failed()) else { return };
    let whole = leader_of(*job);
    drop(job);
    if !slurm.requeue(whole, false) {
        warn!("{run}: Slurm does not requeue it");
    }
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
    use super::*;

    const HERE: FailureLimits = FailureLimits { keep: Duration::from_secs(600), requeues: 3 };

    fn asked(keep: Option<u64>, codes: &str) -> AfterFailure {
        let requeue_on = codes.parse().unwrap_or_default();
        AfterFailure { keep: keep.map(Duration::from_secs), requeue_on }
    }

    #[test]
    fn user_requeue_comes_before_keep_up_to_max_requeues() {
        let both = asked(Some(60), "42");
        let kept = Remedy::Keep(Duration::from_secs(60));
        for (asked, code, may, restarts, remedy) in [
            (both, Some(42), true, 0, Remedy::Requeue),
            (both, Some(42), true, 2, Remedy::Requeue),
            (both, Some(42), true, 3, Remedy::Keep(Duration::from_secs(60))),
            (both, Some(42), false, 0, Remedy::Keep(Duration::from_secs(60))),
            (both, Some(41), true, 0, Remedy::Keep(Duration::from_secs(60))),
            (both, None, true, 0, kept),
            (asked(None, "42"), Some(41), true, 0, Remedy::Nothing),
            (asked(Some(7200), ""), Some(1), true, 0, Remedy::Keep(HERE.keep)),
        ] {
            assert_eq!(
                HERE.remedy(asked, code, may, restarts),
                remedy,
                "{asked:?} {code:?} {may} {restarts}"
            );
        }
        // The site has switched both off since.
        assert_eq!(FailureLimits::default().remedy(both, Some(42), true, 0), Remedy::Nothing);
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
            (
                asked(None, "1"),
                "vipu: --ipu-requeue-on: jobs on pod64 are not requeued for their exit codes here",
            ),
        ] {
            let told = answer(FailureLimits::default(), asked).unwrap_err();
            assert!(told.starts_with(line), "{told}");
        }
    }
}
