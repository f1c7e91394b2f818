//! The jobs of an earlier slurmctld, at the first reconfigure.
//!
//! Slurm has restored its records by then, zeroed the launch gates and run job_fini again for jobs that
//! were completing, all before this object was loaded. What a job was given is in its record: neither
//! today's limits nor today's names matter for it.

use ledger::{AdoptedAs, Ending, Event};
use slurm_host::job::JobMut;
use tracing::{error, info};
use vipu_types::{Grant, JobRun};

use crate::plugin::Plugin;
use crate::reasons::OURS;
use crate::{callbacks, keep_and_requeue, launch_mark};

/// Takes over one job, if it was given a partition.
pub(crate) fn adopt(plugin: &Plugin, mut job: JobMut<'_>) {
    if job.mentions_vipu() {
        plugin.jobs_before.add(*job);
        if job.is_pending() && job.reason().is_some_and(|shown| shown.starts_with(OURS)) {
            plugin.watch_reason(job.id());
        }
    }
    let Some(found) = stage(&job) else { return };
    let granted = job.environment(&Grant::variable(job.id()));
    let Some(grant) = granted.and_then(|text| text.parse::<Grant>().ok()) else { return };
    let first = || plugin.models(|models| models.first_controller(&grant.model));
    let Some(controller) = grant.controller.clone().or_else(first) else {
        let (job, Grant { partition, model, .. }) = (job.id(), grant);
        return error!(
            "job {job}: partition {partition} is on a controller of {model}, which is not configured"
        );
    };
    // A requeue counts before the run it ends has let go of its partition.
    let requeued = found == AdoptedAs::Ending && job.is_pending();
    let restart = job.restart_count().saturating_sub(requeued.into());
    let run = JobRun { job: job.id(), restart, start: job.start_time() };
    let claim = callbacks::claim(*job, run, &grant, controller);
    info!("{}: found {found:?} with partition {}", claim.run, claim.partition);
    failpoints::stop_at!(format!("adopt_{}", claim.run.job));
    plugin.tell(match found {
        // Nobody would let it go: only its partition is left to see to.
        AdoptedAs::Ending if !plugin.may_hold() => Event::Orphan(claim),
        AdoptedAs::Ending => {
            job.raise_completion_gate();
            plugin.limit_completion(claim.clone());
            let was_launched = !launch_mark::was_raised(*job);
            match keep_and_requeue::at_end(plugin, &mut job, &claim, was_launched) {
                None => Event::Adopt(claim, found),
                Some(keep_until) => {
                    plugin.tell(Event::Adopt(claim, AdoptedAs::Running));
                    Event::Failed { job: job.id(), ending: Ending::Held, keep_until }
                }
            }
        }
        AdoptedAs::Starting => {
            launch_mark::raise(&mut job);
            plugin.mind_deadline(*job, &claim);
            Event::Adopt(claim, found)
        }
        AdoptedAs::Running | AdoptedAs::Kept(_) => Event::Adopt(claim, found),
    });
}

fn stage(job: &JobMut<'_>) -> Option<AdoptedAs> {
    if job.is_completing() {
        Some(AdoptedAs::Ending)
    } else if job.is_running() || job.is_suspended() {
        Some(if launch_mark::was_raised(**job) { AdoptedAs::Starting } else { AdoptedAs::Running })
    } else {
        None
    }
}
