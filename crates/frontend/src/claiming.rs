//! The choice of the partition that a job gets.

use std::collections::BTreeSet;

use ledger::{Claim, Place, PoolChoice, Wish};
use tracing::error;
use vipu_types::{Asked, ControllerName, Grant, IpuCount, JobOption, JobRun, PartitionId, Shape};

use crate::cabling::GroupIpus;
use crate::frontend::Frontend;
use crate::in_slurm::{InSlurm, wish};
use crate::preparing;
use crate::request::Resolved;
use crate::slurm::Job;

/// The partition that is chosen for a job.
struct Chosen {
    partition: PartitionId,
    controller: ControllerName,
    size: IpuCount,
    gcds: u32,
    /// Its IPUs, if the controller does not choose them.
    ipus: Vec<Place>,
}

/// The grant and the claim for a job that has its nodes, or whose partition is made before it has nodes. None
/// if the model has no settings, no id for another partition, or no free partition in its pool.
///
/// The ledger found room a moment ago, under this lock. If there is none any more, for example because a
/// controller failed just now, the first controller, or the one to which the nodes belong, is asked until there is
/// room.
pub(crate) fn give(
    frontend: &Frontend,
    job: impl Job,
    nodes: &[u32],
    wanted: Resolved,
) -> Option<(Grant, Claim)> {
    let run = JobRun { job: job.id(), restart: job.restart_count(), start: job.start_time() };
    let delivery = frontend.models(|models| models.delivery(&wanted.model))?;
    let own = match frontend.models(|models| models.ipus_of(&wanted, nodes)) {
        Ok(own) => own,
        Err(why) => {
            error!("job {} gets no IPUs on its nodes: {why}", job.id());
            frontend.show_reason(job.id(), format!("vipu: no IPUs on its nodes: {why}"));
            return None;
        }
    };
    let is_pool = frontend.ledger().is_pool(&wanted.model);
    let chosen = if is_pool {
        of_pool(frontend, job, &wanted, own)
    } else {
        of_its_own(frontend, job, run, nodes, &wanted, own)
    };
    let Chosen { partition, controller, size, gcds, ipus } = chosen?;
    let shared = frontend.models(|models| models.shared_partition(&wanted.model));
    let of_controller = Some(controller.clone());
    let grant =
        Grant { partition, model: wanted.model, size, gcds, controller: of_controller, delivery, shared };
    let claim = Claim { ipus, ..claim(job, run, &grant, controller) };
    Some((grant, claim))
}

/// The partition of a pool for a job.
fn of_pool(frontend: &Frontend, job: impl Job, wanted: &Resolved, own: Option<GroupIpus>) -> Option<Chosen> {
    if let Some(ready) = preparing::ready_for(&frontend.ledger(), job, wanted) {
        let Claim { partition, controller, size, shape, ipus, .. } = ready;
        return Some(Chosen { partition, controller, size, gcds: shape.gcds, ipus });
    }
    let (controller, _) = choose(frontend, job, wanted, own)?;
    let (wish, jobs) = (wish(job, wanted), InSlurm::new(frontend, job));
    let choice = frontend.ledger().choose_in_pool(&wish, &controller, job.user(), &jobs);
    let PoolChoice { partition, size, gcds, .. } = choice?;
    Some(Chosen { partition, controller, size, gcds, ipus: Vec::new() })
}

/// The partition that is made for a job, or is there and is not another job's.
fn of_its_own(
    frontend: &Frontend,
    job: impl Job,
    run: JobRun,
    nodes: &[u32],
    wanted: &Resolved,
    own: Option<GroupIpus>,
) -> Option<Chosen> {
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let gcds = frontend.models(|models| models.gcds(count, wanted))?;
    // One from before the mode in which hosts have IPUs of their own has others.
    let may_be_ready = !matches!(own, Some(GroupIpus::Block(_)));
    let ready = may_be_ready.then(|| preparing::ready_for(&frontend.ledger(), job, wanted)).flatten();
    let (partition, controller, ipus) = match ready {
        Some(Claim { partition, controller, ipus, .. }) => (partition, controller, ipus),
        None => {
            let (controller, ipus) = choose(frontend, job, wanted, own)?;
            let (wish, shape) = (wish(job, wanted), shape(job, gcds));
            let idle = frontend.ledger().idle_for(&wish, &controller, job.user(), shape);
            match idle {
                Some((partition, ipus)) => (partition, controller, ipus),
                None => (frontend.new_id(&wanted.model, run)?, controller, ipus),
            }
        }
    };
    Some(Chosen { partition, controller, size: wanted.size, gcds, ipus })
}

/// The controller for the partition, and its IPUs if the controller does not choose them. If possible, no job
/// in line is delayed.
fn choose(
    frontend: &Frontend,
    job: impl Job,
    wanted: &Resolved,
    own: Option<GroupIpus>,
) -> Option<(ControllerName, Vec<Place>)> {
    let first = || frontend.models(|models| models.first_controller(&wanted.model));
    let owner = match own {
        Some(GroupIpus::Block(ipus)) => {
            return Some((first()?, frontend.ledger().places_of(&wanted.model, &ipus)));
        }
        Some(GroupIpus::Of(owner)) => Some(owner),
        None => None,
    };
    let wish = Wish { controllers: owner.clone().map(|it| BTreeSet::from([it])), ..wish(job, wanted) };
    let (first, jobs) = (owner.or_else(first), InSlurm::new(frontend, job));
    let mut ledger = frontend.ledger();
    let undisturbing = ledger.why_not_now(&wish, &jobs);
    let with_room = undisturbing.or_else(|_| ledger.room_for(&wish));
    let controller = with_room.ok().or(first)?;
    let ipus = ledger.place(&wish, &controller, &jobs);
    Some((controller, ipus))
}

/// The claim of one run of a job, without the places of its IPUs.
pub(crate) fn claim(job: impl Job, run: JobRun, grant: &Grant, controller: ControllerName) -> Claim {
    let Grant { partition, model, size, gcds, .. } = grant.clone();
    let shape = shape(job, gcds);
    let (user, slurm_partition, nodes) = (job.user(), job.slurm_partition(), job.node_names());
    let (task, ipus) = (job.array(), Vec::new());
    Claim { partition, run, task, user, model, controller, size, shape, slurm_partition, ipus, nodes }
}

/// The shape that a job asked for, with this number of GCDs. Options that could not be read at submit count as
/// none.
fn shape(job: impl Job, gcds: u32) -> Shape {
    let asked = Asked::read(job.options(JobOption::PREFIX).iter().map(String::as_str)).unwrap_or_default();
    Shape { gcds, ..asked.shape }
}
