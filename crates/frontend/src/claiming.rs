//! The choice of the partition that a job gets.

use ledger::{Claim, Place};
use vipu_types::{Asked, ControllerName, Grant, JobOption, JobRun, PartitionId, Shape};

use crate::frontend::Frontend;
use crate::preparing;
use crate::request::Resolved;
use crate::scheduling::{InSlurm, wish};
use crate::slurm::Job;

/// The grant and the claim for a job that has its nodes, or whose partition is made before it has nodes. None
/// if the model has no settings, or no id for another partition.
///
/// The ledger found room a moment ago, under this lock. If there is none any more, for example because a
/// controller failed just now, the first controller is asked until there is room.
pub(crate) fn give(
    frontend: &Frontend,
    job: impl Job,
    nodes: u32,
    wanted: Resolved,
) -> Option<(Grant, Claim)> {
    let run = JobRun { job: job.id(), restart: job.restart_count(), start: job.start_time() };
    let ready = preparing::ready_for(&frontend.ledger(), job, &wanted);
    let (partition, controller, ipus) = match ready {
        Some(Claim { partition, controller, ipus, .. }) => (partition, controller, ipus),
        None => {
            let (controller, ipus) = choose(frontend, job, &wanted)?;
            match idle(frontend, job, nodes, &wanted, &controller) {
                Some((partition, ipus)) => (partition, controller, ipus),
                None => (frontend.new_id(&wanted.model, run)?, controller, ipus),
            }
        }
    };
    let grant = frontend.models(|models| models.grant(partition, nodes, wanted, controller.clone()))?;
    let claim = Claim { ipus, ..claim(job, run, &grant, controller) };
    Some((grant, claim))
}

/// The controller for the partition, and its IPUs if the controller does not choose them. If possible, no job
/// in line is delayed.
fn choose(frontend: &Frontend, job: impl Job, wanted: &Resolved) -> Option<(ControllerName, Vec<Place>)> {
    let (wish, jobs) = (wish(job, wanted), InSlurm::new(frontend, job));
    let first = frontend.models(|models| models.first_controller(&wanted.model));
    let mut ledger = frontend.ledger();
    let undisturbing = ledger.why_not_now(&wish, &jobs);
    let with_room = undisturbing.or_else(|_| ledger.fits_now(&wanted.model, wanted.size));
    let controller = with_room.ok().or(first)?;
    let ipus = ledger.place(&wish, &controller, &jobs);
    Some((controller, ipus))
}

/// An idle partition of the controller that serves the job, with its IPUs if the controller does not choose them.
fn idle(
    frontend: &Frontend,
    job: impl Job,
    nodes: u32,
    wanted: &Resolved,
    controller: &ControllerName,
) -> Option<(PartitionId, Vec<Place>)> {
    let gcds = frontend.models(|models| models.gcds(nodes, wanted))?;
    frontend.ledger().idle_for(&wish(job, wanted), controller, job.user(), shape(job, gcds))
}

/// The claim of one run of a job, without the places of its IPUs.
pub(crate) fn claim(job: impl Job, run: JobRun, grant: &Grant, controller: ControllerName) -> Claim {
    let Grant { partition, model, size, gcds, .. } = grant.clone();
    let shape = shape(job, gcds);
    let (user, slurm_partition, ipus) = (job.user(), job.slurm_partition(), Vec::new());
    Claim { partition, run, user, model, controller, size, shape, slurm_partition, ipus }
}

/// The shape that a job asked for, with this number of GCDs. Options that could not be read at submit count as
/// none.
fn shape(job: impl Job, gcds: u32) -> Shape {
    let asked = Asked::read(job.options(JobOption::PREFIX).iter().map(String::as_str)).unwrap_or_default();
    Shape { gcds, ..asked.shape }
}
