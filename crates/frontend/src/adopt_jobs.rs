//! Takes over the jobs of an earlier slurmctld, at the first reconfigure.
//!
//! Before this object is loaded, Slurm has restored its records, zeroed the launch gates and run job_fini
//! again for completing jobs. The grant of a job is in its record, so today's limits and names do not matter
//! for it.

use ledger::{AdoptedAs, Ending, Event};
use tracing::{error, info};
use vipu_types::{Grant, JobRun};

use crate::clocks_and_queues::HostTask;
use crate::frontend::Frontend;
use crate::internal_error::OURS;
use crate::slurm::{Job, JobMut};
use crate::{accounting, claiming, keep_and_requeue, launch_mark};

/// Takes over one job, if it was given a partition.
pub fn adopt(frontend: &Frontend, mut job: impl JobMut) {
    let found = stage(&job);
    if job.mentions_vipu() {
        if found == Some(AdoptedAs::Starting) && job.is_batch() {
            job.expect_end_of_script();
        }
        frontend.before.jobs.add(*job);
        if job.is_pending() && job.reason().is_some_and(|shown| shown.starts_with(OURS)) {
            frontend.outside().ask_host(HostTask::WatchReason(job.id()));
        }
    }
    let Some(found) = found else { return };
    let granted = job.environment(&Grant::variable(job.id()));
    let Some(grant) = granted.and_then(|text| text.parse::<Grant>().ok()) else { return };
    let first = || frontend.models().first_controller(&grant.model);
    let Some(controller) = grant.controller.clone().or_else(first) else {
        let (job, Grant { partition, model, .. }) = (job.id(), grant);
        return error!(
            "job {job}: partition {partition} is on a controller of {model}, which is not configured"
        );
    };
    // Slurm counts a requeue before the run that it ends has released its partition.
    let requeued = found == AdoptedAs::Ending && job.is_pending();
    let restart = job.restart_count().saturating_sub(requeued.into());
    let run = JobRun { job: job.id(), restart, start: job.start_time() };
    let claim = claiming::claim(*job, run, &grant, controller);
    accounting::adopt(frontend, *job, &claim);
    info!("{}: found {found:?} with partition {}", claim.run, claim.partition);
    if found == AdoptedAs::Ending && frontend.ledger().is_of_another(&claim, found) {
        return info!("{}: another job has the partition by now", claim.run);
    }
    failpoints::stop_at!(format!("adopt_{}", claim.run.job));
    frontend.tell(match found {
        // No thread would open its completion gate, so only its partition is removed.
        AdoptedAs::Ending if !frontend.may_hold() => Event::Orphan(claim.clone()),
        AdoptedAs::Ending => {
            job.raise_completion_gate();
            let was_launched = !launch_mark::was_raised(*job);
            match keep_and_requeue::at_end(frontend, &mut job, &claim, was_launched) {
                None => Event::Adopt(claim.clone(), found),
                Some(keep_until) => {
                    frontend.tell(Event::Adopt(claim.clone(), AdoptedAs::Running));
                    Event::Failed { job: job.id(), ending: Ending::Held, keep_until }
                }
            }
        }
        AdoptedAs::Starting => {
            launch_mark::raise(&mut job);
            Event::Adopt(claim.clone(), found)
        }
        AdoptedAs::Running | AdoptedAs::Kept(_) => Event::Adopt(claim.clone(), found),
    });
    // The host thread is asked after the event, because it forgets runs that the ledger does not know.
    match found {
        AdoptedAs::Starting => frontend.mind_deadline(*job, &claim),
        AdoptedAs::Ending if frontend.may_hold() => frontend.limit_completion(claim),
        AdoptedAs::Ending | AdoptedAs::Running | AdoptedAs::Kept(_) => {}
    }
}

fn stage(job: &impl JobMut) -> Option<AdoptedAs> {
    if job.is_completing() {
        Some(AdoptedAs::Ending)
    } else if job.is_running() || job.is_suspended() {
        Some(if launch_mark::was_raised(**job) { AdoptedAs::Starting } else { AdoptedAs::Running })
    } else {
        None
    }
}
