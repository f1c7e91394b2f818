//! What the callbacks of Slurm come to. All of it runs under slurmctld's locks: no I/O, no waiting.

use std::cell::Cell;

use ledger::{Claim, Ending, Event, Place};
use slurm_host::job::{JobMut, JobRef};
use tracing::{debug, error};
use vipu_types::{Asked, ControllerName, Grant, JobOption, JobRun, Shape};

use crate::keep_and_requeue;
use crate::launch_mark;
use crate::limits::Standing;
use crate::phase;
use crate::plugin::Plugin;
use crate::preparing;
use crate::request::{Refusal, Request, Resolved};
use crate::scheduling;

/// What a job asks for, if it asks for IPUs.
pub(crate) fn wanted(plugin: &Plugin, job: JobRef<'_>) -> Result<Option<Resolved>, Refusal> {
    if !job.mentions_vipu() {
        return Ok(None);
    }
    let standing = Standing { slurm_partitions: job.slurm_partition(), qos: job.qos() };
    let (tres, options) = (job.tres_per_node().unwrap_or_default(), job.options(JobOption::PREFIX));
    plugin.models(|models| models.find(&Request { tres, options, standing }))
}

/// A job has its nodes: claims its IPUs and holds its launch. False leaves the job pending.
pub(crate) fn job_begin(plugin: &Plugin, mut job: JobMut<'_>) -> bool {
    let wanted = match wanted(plugin, *job) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            forget_grant(&mut job);
            return true;
        }
        Err(why) => {
            error!("job {} got nodes with a request that cannot be met: {why}", job.id());
            return false;
        }
    };
    debug!(
        user = job.user(),
        tres = job.tres_per_node(),
        restart = job.restart_count(),
        start = job.start_time(),
        end = job.end_time(),
        "job {} begins",
        job.id()
    );
    let Some((grant, claim)) = give(plugin, *job, job.node_count(), wanted) else { return false };
    job.remove_script_environment_of(Grant::BEGINNING);
    for (name, value) in grant.named() {
        job.set_environment(name, &value);
        job.set_script_environment(name, &value);
    }
    job.set_environment(&Grant::variable(job.id()), &grant.to_string());
    launch_mark::raise(&mut job);
    failpoints::stop!("begin");
    let is_taken =
        || plugin.ledger().live_claim(claim.run.job).is_some_and(|live| live.partition == claim.partition);
    if !plugin.tell(Event::Begin(claim.clone())) || !is_taken() {
        undo_begin(plugin, job);
        return false;
    }
    plugin.mind_deadline(*job, &claim);
    if plugin.ledger().is_launched(job.id()) {
        // Its partition was there before it: it need not wait. Nobody has seen the gate, under this lock.
        launch_mark::forget(&mut job);
        job.take_back_launch_gate();
        phase::show_made(&mut job, &claim);
    }
    true
}

/// Takes back what a [`job_begin`] has done that came to no good end.
pub(crate) fn undo_begin(plugin: &Plugin, mut job: JobMut<'_>) {
    let id = job.id();
    plugin.begin_was_spoilt(id);
    let is_gate_known = plugin.ledger().launch_raised(id);
    if plugin.ledger().live_claim(id).is_some() {
        // It ends as any other does, its launch gate opened if it has one: what was prepared has none.
        plugin.tell(Event::Fini { job: id, ending: Ending::Unheld });
    }
    if !is_gate_known {
        job.take_back_launch_gate();
    }
    forget_grant(&mut job);
}

/// What a job is given that has its nodes, or that has its partition made before, and the claim to it.
///
/// There was room a moment ago, under the same lock; should there be none any more, as when a controller was found
/// to be away just now, the first controller is asked for it until there is.
pub(crate) fn give(plugin: &Plugin, job: JobRef<'_>, nodes: u32, wanted: Resolved) -> Option<(Grant, Claim)> {
    let run = JobRun { job: job.id(), restart: job.restart_count(), start: job.start_time() };
    let (partition, controller, ipus) = match preparing::ready_for(plugin, job, &wanted) {
        Some(Claim { partition, controller, ipus, .. }) => (partition, controller, ipus),
        None => {
            let (controller, ipus) = choose(plugin, job, &wanted)?;
            (plugin.new_id(&wanted.model, run)?, controller, ipus)
        }
    };
    let grant = plugin.models(|models| models.grant(partition, nodes, wanted, controller.clone()))?;
    let claim = Claim { ipus, ..claim(job, run, &grant, controller) };
    Some((grant, claim))
}

/// Where the partition is to be made, and of which IPUs if that is not the controller's choice.
fn choose(plugin: &Plugin, job: JobRef<'_>, wanted: &Resolved) -> Option<(ControllerName, Vec<Place>)> {
    let with_room = scheduling::controller_for(plugin, job, wanted);
    let controller = with_room.or_else(|| plugin.models(|models| models.first_controller(&wanted.model)))?;
    let ipus = scheduling::place_for(plugin, job, wanted, &controller);
    Some((controller, ipus))
}

/// An earlier run may have had IPUs, before the request was changed, and what root's scripts are told may be forged.
fn forget_grant(job: &mut JobMut<'_>) {
    job.remove_script_environment_of(Grant::BEGINNING);
    let variable = Grant::variable(job.id());
    if job.environment(&variable).is_some() {
        job.remove_environment(&variable);
        launch_mark::forget(job);
        for name in Grant::NAMES {
            job.remove_environment(name);
        }
    }
}

/// The claim of one run of a job, wherever its IPUs are.
pub(crate) fn claim(job: JobRef<'_>, run: JobRun, grant: &Grant, controller: ControllerName) -> Claim {
    let Grant { partition, model, size, gcds, .. } = grant.clone();
    // What was no option at its submit is none now.
    let asked = Asked::read(job.options(JobOption::PREFIX).iter().map(String::as_str)).unwrap_or_default();
    let shape = Shape { gcds, ..asked.shape };
    let (user, slurm_partition, ipus) = (job.user(), job.slurm_partition(), Vec::new());
    Claim { partition, run, user, model, controller, size, shape, slurm_partition, ipus }
}

/// Whether the job's partition is ready, or it needs none. Of an IPU job that was not taken over from an earlier
/// slurmctld, as that stopped half-way, nobody knows.
pub(crate) fn job_ready(plugin: &Plugin, job: JobRef<'_>) -> bool {
    let ledger = plugin.ledger();
    let is_unknown = || !plugin.may_hold() && job.is_configuring() && job.mentions_vipu();
    match ledger.live_claim(job.id()) {
        Some(_) => !ledger.launch_raised(job.id()),
        None => !is_unknown(),
    }
}

/// Slurm takes the job's nodes away. Comes also for jobs that never began, and twice. `done` is what was done to the
/// job, should it come no further.
pub(crate) fn job_fini(plugin: &Plugin, mut job: JobMut<'_>, done: &Cell<Option<Ending>>) {
    let Some(claim) = plugin.ledger().live_claim(job.id()).cloned() else { return };
    phase::forget(&mut job, &claim);
    let ending = if job.is_completing() && plugin.may_hold() {
        job.raise_completion_gate();
        plugin.limit_completion(claim.clone());
        Ending::Held
    } else {
        Ending::Unheld
    };
    done.set(Some(ending));
    let was_launched = plugin.ledger().is_launched(job.id());
    let keep_until = keep_and_requeue::at_end(plugin, &mut job, &claim, was_launched);
    failpoints::stop!("fini");
    let job = job.id();
    plugin.tell(match keep_until {
        Some(keep_until) => Event::Failed { job, ending, keep_until },
        None => Event::Fini { job, ending },
    });
}
