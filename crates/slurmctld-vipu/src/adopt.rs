//! The jobs of an earlier slurmctld, at the first reconfigure.
//!
//! Slurm has restored its records by then, zeroed the launch gates and run job_fini again for jobs that
//! were completing, all before this object was loaded.

use ledger::{AdoptedAs, Event};
use slurm_host::job::JobMut;
use tracing::{error, info};

use crate::callbacks;
use crate::site::Site;

/// Takes over one job, if it has a partition or should have.
pub(crate) fn adopt(site: &Site, mut job: JobMut<'_>) {
    let Some(found) = stage(&job) else { return };
    let wanted = match callbacks::wanted(site, *job) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return,
        Err(why) => {
            error!("job {}: its partition cannot be taken over: {why}", job.id());
            return;
        }
    };
    // A requeue counts before the run it ends has let go of its partition.
    let requeued = found == AdoptedAs::Ending && job.is_pending();
    let restart = job.restart_count().saturating_sub(requeued.into());
    let Some(claim) = callbacks::claim(site, *job, restart, wanted) else { return };
    match found {
        AdoptedAs::Starting => callbacks::hold_launch(&mut job, &claim),
        AdoptedAs::Running => {}
        AdoptedAs::Ending => job.raise_completion_gate(),
    }
    info!("{}: found {found:?} with partition {}", claim.run, claim.partition);
    site.tell(Event::Adopt(claim, found));
}

fn stage(job: &JobMut<'_>) -> Option<AdoptedAs> {
    if !job.mentions_vipu() {
        None
    } else if job.is_completing() {
        Some(AdoptedAs::Ending)
    } else if job.is_running() && job.is_configuring() {
        Some(AdoptedAs::Starting)
    } else if job.is_running() || job.is_suspended() {
        Some(AdoptedAs::Running)
    } else {
        None
    }
}
