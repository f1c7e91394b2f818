//! The choice of the partition that a job gets.

use std::collections::BTreeSet;

use ledger::{Claim, Ledger, Millis, Place, PoolChoice, Preparation, Wish};
use tracing::error;
use vipu_types::{Asked, ControllerName, Grant, IpuCount, JobOption, JobRun, PartitionId, Reason, Shape};

use crate::cabling::GroupIpus;
use crate::frontend::Frontend;
use crate::jobs_for_ledger::{InSlurm, wish};
use crate::mode_host;
use crate::models::Models;
use crate::request::Resolved;
use crate::slurm::Job;
use crate::status::seen_jobs::SeenJob;

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
/// if the model has no settings, no id for another partition, or no free partition in its pool, or if the IPUs of the
/// nodes can be no partition.
///
/// `ledger` stays locked until it is told the claim, so that what was chosen is still there. If there is no room any
/// more, for example because a controller failed just now, the first controller, or the one to which the nodes belong,
/// is asked until there is room.
pub(crate) fn give<J: Job>(
    frontend: &Frontend,
    ledger: &mut Ledger,
    jobs: &InSlurm<J>,
    job: J,
    nodes: &[u32],
    wanted: Resolved,
) -> Option<(Grant, Claim)> {
    let models = frontend.models();
    let run = JobRun { job: job.id(), restart: job.restart_count(), start: job.start_time() };
    let delivery = models.delivery(&wanted.model)?;
    let own = match models.ipus_of(&wanted, nodes) {
        Ok(own) => own,
        Err(why) => {
            error!("job {} gets no IPUs on its nodes: {why}", job.id());
            let line = format!("vipu: no IPUs on its nodes: {why}");
            frontend.show_reason(job.id(), Reason::new(mode_host::NO_IPUS, line));
            return None;
        }
    };
    let mut choosing = Choosing { models: &models, ledger, jobs, job, wanted: &wanted, own };
    let chosen = if choosing.ledger.is_pool(&wanted.model) {
        choosing.of_pool()
    } else {
        choosing.of_its_own(run, nodes.len(), frontend.now())
    };
    let Chosen { partition, controller, size, gcds, ipus } = chosen?;
    let shared = models.shared_partition(&wanted.model);
    let of_controller = Some(controller.clone());
    let grant =
        Grant { partition, model: wanted.model, size, gcds, controller: of_controller, delivery, shared };
    let claim = Claim { ipus, ..claim(job, run, &grant, controller) };
    if !frontend.seen_jobs.has(run.job) {
        // The next document has the partition, and forecasts need the end of its job.
        frontend.seen_jobs.note(run.job, Some(SeenJob::of(frontend, job, None)));
    }
    Some((grant, claim))
}

/// A choice for a job.
struct Choosing<'a, J> {
    models: &'a Models,
    ledger: &'a mut Ledger,
    jobs: &'a InSlurm<J>,
    job: J,
    wanted: &'a Resolved,
    /// The IPUs that belong to its nodes.
    own: Option<GroupIpus>,
}

impl<J: Job> Choosing<'_, J> {
    /// The partition of a pool.
    fn of_pool(&mut self) -> Option<Chosen> {
        if let Some(ready) = ready_for(self.ledger, self.job, self.wanted) {
            let Claim { partition, controller, size, shape, ipus, .. } = ready;
            return Some(Chosen { partition, controller, size, gcds: shape.gcds, ipus });
        }
        let (controller, _) = self.controller_and_ipus()?;
        let wish = wish(self.job, self.wanted);
        let choice = self.ledger.choose_in_pool(&wish, &controller, self.job.user(), self.jobs);
        let PoolChoice { partition, size, gcds, .. } = choice?;
        Some(Chosen { partition, controller, size, gcds, ipus: Vec::new() })
    }

    /// The partition that is made for the job, or is there and is not another job's.
    fn of_its_own(&mut self, run: JobRun, nodes: usize, now: Millis) -> Option<Chosen> {
        let gcds = self.gcds(nodes)?;
        // One from before the mode in which hosts have IPUs of their own has others.
        let may_be_ready = !matches!(self.own, Some(GroupIpus::Block(_)));
        let ready = may_be_ready.then(|| ready_for(self.ledger, self.job, self.wanted)).flatten();
        let (partition, controller, ipus) = match ready {
            Some(Claim { partition, controller, ipus, .. }) => (partition, controller, ipus),
            None => {
                let (controller, ipus) = self.controller_and_ipus()?;
                let (wish, shape) = (wish(self.job, self.wanted), shape(self.job, gcds));
                match self.ledger.idle_for(&wish, &controller, self.job.user(), shape) {
                    Some((partition, ipus)) => (partition, controller, ipus),
                    None => (self.new_id(run, now)?, controller, ipus),
                }
            }
        };
        Some(Chosen { partition, controller, size: self.wanted.size, gcds, ipus })
    }

    /// The number of GCDs in the partition of a job with this number of nodes.
    fn gcds(&self, nodes: usize) -> Option<u32> {
        let (wanted, settings) = (self.wanted, self.models.settings(&self.wanted.model)?);
        if settings.shared_partition.is_some() {
            return Some(1);
        }
        let shape = wanted.shape.by_site(settings.use_reconfig_partition);
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        Some(shape.settled(wanted.size, settings.link_domain_size, nodes).gcds)
    }

    /// An id for the next partition of this run. If the model has none, the log says so.
    fn new_id(&mut self, run: JobRun, now: Millis) -> Option<PartitionId> {
        let model = &self.wanted.model;
        let id = self.ledger.new_id(now, model, run.job, run.restart);
        if id.is_none() {
            error!("{run}: model {model} has no id for another partition of it");
        }
        id
    }

    /// The controller for the partition, and its IPUs if the controller does not choose them. If possible, no job
    /// in line is delayed.
    fn controller_and_ipus(&mut self) -> Option<(ControllerName, Vec<Place>)> {
        let model = &self.wanted.model;
        let first = || self.models.first_controller(model);
        let owner = match &self.own {
            Some(GroupIpus::Block(ipus)) => return Some((first()?, self.ledger.places_of(model, ipus))),
            Some(GroupIpus::Of(owner)) => Some(owner.clone()),
            None => None,
        };
        let of_owner = owner.clone().map(|it| BTreeSet::from([it]));
        let wish = Wish { controllers: of_owner, ..wish(self.job, self.wanted) };
        let undisturbing = self.ledger.why_not_now(&wish, self.jobs);
        let with_room = undisturbing.or_else(|_| self.ledger.room_for(&wish));
        let controller = with_room.ok().or_else(|| owner.or_else(first))?;
        let ipus = self.ledger.place(&wish, &controller, self.jobs);
        Some((controller, ipus))
    }
}

/// The claim of the partition that is ready for this job.
fn ready_for(ledger: &Ledger, job: impl Job, wanted: &Resolved) -> Option<Claim> {
    let Preparation { claim, ready } = ledger.preparation(job.id())?;
    let is_for = wanted.is_claimed_by(ledger, &claim, job.user(), job.restart_count());
    (ready.is_some() && is_for).then_some(claim)
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
