//! What the callbacks of Slurm come to. All of it runs under slurmctld's locks: no I/O, no waiting.

use ledger::{Claim, Ending, Event};
use slurm_host::job::{JobMut, JobRef};
use slurm_host::submit::JobDescription;
use tracing::{debug, error};
use vipu_types::{ControllerName, Grant, GresRequest, JobRun};

use crate::request::{Refusal, Resolved};
use crate::scheduling;
use crate::site::Site;

/// What a job asks for, if it asks for IPUs.
pub(crate) fn wanted(site: &Site, job: JobRef<'_>) -> Result<Option<Resolved>, Refusal> {
    let tres = job.tres_per_node().unwrap_or_default();
    site.models(|models| models.find(&tres))
}

/// A job has its nodes: claims its IPUs and holds its launch. False leaves the job pending.
pub(crate) fn job_begin(site: &Site, mut job: JobMut<'_>) -> bool {
    let wanted = match wanted(site, *job) {
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
    let Some((grant, claim)) = give(site, *job, wanted) else { return false };
    for (name, value) in grant.named() {
        job.set_environment(name, &value);
    }
    job.set_environment(&Grant::variable(job.id()), &grant.to_string());
    job.raise_launch_gate();
    site.tell(Event::Begin(claim));
    true
}

/// What a job that has its nodes is given, and the claim to it.
///
/// There was room a moment ago, under the same lock; should there be none any more, as when a controller was found
/// to be away just now, the first controller is asked for it until there is.
fn give(site: &Site, job: JobRef<'_>, wanted: Resolved) -> Option<(Grant, Claim)> {
    let with_room = scheduling::controller_for(site, job, &wanted);
    let controller = with_room.or_else(|| site.models(|models| models.first_controller(&wanted.model)))?;
    let ipus = scheduling::place_for(site, job, &wanted, &controller);
    let restart = job.restart_count();
    let grant = site.models(|models| models.grant(job.id(), restart, wanted, controller.clone()))?;
    let claim = Claim { ipus, ..claim(job, restart, &grant, controller) };
    Some((grant, claim))
}

/// An earlier run may have had IPUs, before the request was changed.
fn forget_grant(job: &mut JobMut<'_>) {
    let variable = Grant::variable(job.id());
    if job.environment(&variable).is_some() {
        job.remove_environment(&variable);
        Grant::NAMES.iter().for_each(|name| job.remove_environment(name));
    }
}

/// The claim of one run of a job, wherever its IPUs are.
pub(crate) fn claim(job: JobRef<'_>, restart: u16, grant: &Grant, controller: ControllerName) -> Claim {
    let run = JobRun { job: job.id(), restart, start: job.start_time() };
    let Grant { partition, model, size, .. } = grant.clone();
    Claim { partition, run, user: job.user(), model, controller, size, ipus: Vec::new() }
}

/// Whether the job's partition is ready, or it needs none.
pub(crate) fn job_ready(site: &Site, job: JobRef<'_>) -> bool {
    !site.ledger().launch_raised(job.id())
}

/// Slurm takes the job's nodes away. Comes also for jobs that never began, and twice.
pub(crate) fn job_fini(site: &Site, mut job: JobMut<'_>) {
    if site.ledger().live_claim(job.id()).is_none() {
        return;
    }
    let ending = if job.is_completing() {
        job.raise_completion_gate();
        Ending::Held
    } else {
        Ending::Unheld
    };
    site.tell(Event::Fini { job: job.id(), ending });
}

/// Checks a request at submit and completes it. The error is for the user.
pub(crate) fn job_submit(site: &Site, description: &mut JobDescription<'_>) -> Result<(), String> {
    for (per_what, tres) in description.other_tres() {
        if tres.as_deref().is_some_and(mentions_vipu) {
            return Err(format!(
                "vipu: IPUs cannot be asked for {per_what}; write --gres=vipu:<model>:<IPUs>"
            ));
        }
    }
    let Some(tres) = description.tres_per_node() else { return Ok(()) };
    let found = site.models(|models| models.find(&tres)).map_err(|refusal| refusal.to_string())?;
    let Some(resolved) = found else { return Ok(()) };
    if slurm_host::selfcheck::is_pass_through() {
        return Err("vipu: the IPU plugin has switched itself off; its reason is in slurmctld's log".into());
    }
    let completed = resolved.canonical().replace_in(&tres);
    if completed != tres {
        description.set_tres_per_node(&completed);
    }
    Ok(())
}

fn mentions_vipu(tres: &str) -> bool {
    !matches!(GresRequest::find(tres), Ok(None))
}
