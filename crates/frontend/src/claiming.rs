//! Which partition a job is given.

use ledger::{Claim, Place};
use vipu_types::{Asked, ControllerName, Grant, JobOption, JobRun, Shape};

use crate::frontend::Frontend;
use crate::request::Resolved;
use crate::slurm::Job;
use crate::{preparing, scheduling};

/// What a job is given that has its nodes, or that has its partition made before, and the claim to it.
///
/// There was room a moment ago, under the same lock; should there be none any more, as when a controller was found
/// to be away just now, the first controller is asked for it until there is.
pub(crate) fn give(
    frontend: &Frontend,
    job: impl Job,
    nodes: u32,
    wanted: Resolved,
) -> Option<(Grant, Claim)> {
    let run = JobRun { job: job.id(), restart: job.restart_count(), start: job.start_time() };
    let (partition, controller, ipus) = match preparing::ready_for(frontend, job, &wanted) {
        Some(Claim { partition, controller, ipus, .. }) => (partition, controller, ipus),
        None => {
            let (controller, ipus) = choose(frontend, job, &wanted)?;
            (frontend.new_id(&wanted.model, run)?, controller, ipus)
        }
    };
    let grant = frontend.models(|models| models.grant(partition, nodes, wanted, controller.clone()))?;
    let claim = Claim { ipus, ..claim(job, run, &grant, controller) };
    Some((grant, claim))
}

/// Where the partition is to be made, and of which IPUs if that is not the controller's choice.
fn choose(frontend: &Frontend, job: impl Job, wanted: &Resolved) -> Option<(ControllerName, Vec<Place>)> {
    let with_room = scheduling::controller_for(frontend, job, wanted);
    let controller =
        with_room.or_else(|| frontend.models(|models| models.first_controller(&wanted.model)))?;
    let ipus = scheduling::place_for(frontend, job, wanted, &controller);
    Some((controller, ipus))
}

/// The claim of one run of a job, wherever its IPUs are.
pub(crate) fn claim(job: impl Job, run: JobRun, grant: &Grant, controller: ControllerName) -> Claim {
    let Grant { partition, model, size, gcds, .. } = grant.clone();
    // What was no option at its submit is none now.
    let asked = Asked::read(job.options(JobOption::PREFIX).iter().map(String::as_str)).unwrap_or_default();
    let shape = Shape { gcds, ..asked.shape };
    let (user, slurm_partition, ipus) = (job.user(), job.slurm_partition(), Vec::new());
    Claim { partition, run, user, model, controller, size, shape, slurm_partition, ipus }
}
