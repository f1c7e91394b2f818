//! The jobs of an earlier slurmctld, at the first reconfigure.
//!
//! Slurm has restored its records by then, zeroed the launch gates and run job_fini again for jobs that
//! were completing, all before this object was loaded. What a job was given is in its record: neither
//! today's limits nor today's names matter for it.

use ledger::{AdoptedAs, Event};
use slurm_host::job::JobMut;
use tracing::{error, info};
use vipu_types::Grant;

use crate::callbacks;
use crate::site::Site;

/// Takes over one job, if it was given a partition.
pub(crate) fn adopt(site: &Site, mut job: JobMut<'_>) {
    let Some(found) = stage(&job) else { return };
    let granted = job.environment(&Grant::variable(job.id()));
    let Some(grant) = granted.and_then(|text| text.parse::<Grant>().ok()) else { return };
    let first = || site.models(|models| models.first_controller(&grant.model));
    let Some(controller) = grant.controller.clone().or_else(first) else {
        let (job, Grant { partition, model, .. }) = (job.id(), grant);
        return error!(
            "job {job}: partition {partition} is on a controller of {model}, which is not configured"
        );
    };
    match found {
        AdoptedAs::Starting => job.raise_launch_gate(),
        AdoptedAs::Running => {}
        AdoptedAs::Ending => job.raise_completion_gate(),
    }
    // A requeue counts before the run it ends has let go of its partition.
    let requeued = found == AdoptedAs::Ending && job.is_pending();
    let restart = job.restart_count().saturating_sub(requeued.into());
    let claim = callbacks::claim(*job, restart, &grant, controller);
    info!("{}: found {found:?} with partition {}", claim.run, claim.partition);
    site.tell(Event::Adopt(claim, found));
}

fn stage(job: &JobMut<'_>) -> Option<AdoptedAs> {
    if job.is_completing() {
        Some(AdoptedAs::Ending)
    } else if job.is_running() && job.is_configuring() {
        Some(AdoptedAs::Starting)
    } else if job.is_running() || job.is_suspended() {
        Some(AdoptedAs::Running)
    } else {
        None
    }
}
