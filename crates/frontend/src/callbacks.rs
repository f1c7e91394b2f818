//! Answers to Slurm's job_begin, job_ready and job_fini. All run under slurmctld's locks: no I/O, no waiting.

use std::cell::Cell;

use ledger::{Ending, Event, Launch};
use tracing::{debug, error};
use vipu_types::Grant;

use crate::accounting;
use crate::claiming::give;
use crate::frontend::Frontend;
use crate::host_thread::lost_runs;
use crate::jobs_for_ledger::InSlurm;
use crate::slurm::{Job, JobMut};
use crate::{keep_and_requeue, launch_mark, show_partition};

/// Claims the IPUs of a job that has its nodes, and raises its launch gate. False leaves the job pending.
pub fn job_begin(frontend: &Frontend, mut job: impl JobMut) -> bool {
    let wanted = match frontend.models().wanted(*job) {
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
    let (jobs, nodes) = (InSlurm::new(frontend, *job), job.nodes());
    let mut ledger = frontend.ledger();
    let given = give(frontend, &mut ledger, &jobs, *job, &nodes, wanted);
    let Some((grant, claim)) = given else { return false };
    job.clean_script_environment(Grant::BEGINNING);
    for (name, value) in grant.named() {
        job.set_environment(name, &value);
        job.set_script_environment(name, &value);
    }
    job.set_environment(&Grant::variable(job.id()), &grant.to_string());
    launch_mark::raise(&mut job);
    job.forget_batch_host();
    failpoints::stop!("begin");
    // A batch script would be launched before the number of IPUs is out of its allocation again.
    let has_number = job.ipus_are_counted() && accounting::counts_gres(frontend, &claim.model);
    let launch = if job.is_batch() && has_number { Launch::ByGate } else { Launch::AtOnce };
    if !frontend.tell_locked(ledger, Event::Begin(claim.clone(), launch)) {
        undo_begin(frontend, job);
        return false;
    }
    frontend.accounting_notes.begun.leave(job.id(), ());
    frontend.mind_deadline(*job, &claim);
    if frontend.ledger().is_launched(job.id()) {
        // Its partition was ready before it, so the job need not wait. Nothing has seen the gate under this
        // lock.
        launch_mark::forget(&mut job);
        job.take_back_launch_gate();
        show_partition::show_made(&mut job, &claim);
        if job.is_batch() {
            frontend.outside().note_launched(claim, frontend.outside().unix_time());
        }
    }
    true
}

/// Undoes a [`job_begin`] that failed or panicked. The job stays pending.
pub fn undo_begin(frontend: &Frontend, mut job: impl JobMut) {
    let id = job.id();
    frontend.begin_has_panicked(id);
    let is_gate_known = frontend.ledger().launch_raised(id);
    if frontend.ledger().live_claim(id).is_some() {
        // The run ends like any other, and its launch gate is opened if it is raised. A prepared run has
        // none.
        frontend.tell(Event::Fini { job: id, ending: Ending::Unheld });
    }
    if !is_gate_known {
        job.take_back_launch_gate();
    }
    forget_grant(&mut job);
}

/// Removes the grant of an earlier run, whose request may have had IPUs, and forged variables for root's
/// scripts.
fn forget_grant(job: &mut impl JobMut) {
    job.clean_script_environment(Grant::BEGINNING);
    let variable = Grant::variable(job.id());
    if job.environment(&variable).is_some() {
        job.remove_environment(&variable);
        launch_mark::forget(job);
        for name in Grant::NAMES {
            job.remove_environment(name);
        }
    }
}

/// Whether the job's partition is ready, or the job needs none. After a take-over that stopped half-way, an
/// IPU job without a claim is not ready: its partition is unknown. A job that is not launched any more because slurmctld
/// ends is not ready either: srun would ask for its step, and wait for an answer that is lost.
pub fn job_ready(frontend: &Frontend, job: impl Job) -> bool {
    if job.is_configuring() && frontend.outside().is_ending() {
        return false;
    }
    let ledger = frontend.ledger();
    let is_unknown = || !frontend.may_hold() && job.is_configuring() && job.mentions_vipu();
    match ledger.live_claim(job.id()) {
        Some(_) => job.is_in_pre_run() || !ledger.launch_raised(job.id()),
        None => !is_unknown(),
    }
}

/// Ends the run of a job that loses its nodes. Slurm calls this also for jobs that never began, and twice for
/// some. `done` is the ending that the job has been given, for the case of a panic.
pub fn job_fini(frontend: &Frontend, mut job: impl JobMut, done: &Cell<Option<Ending>>) {
    accounting::clear(frontend, &mut job);
    let Some(claim) = frontend.ledger().live_claim(job.id()).cloned() else { return };
    show_partition::forget(&mut job);
    let ending = if job.is_completing() && frontend.may_hold() {
        job.raise_completion_gate();
        Ending::Held
    } else {
        Ending::Unheld
    };
    done.set(Some(ending));
    let was_launched = frontend.ledger().is_launched(job.id());
    let keep_until = keep_and_requeue::at_end(frontend, &mut job, &claim, was_launched);
    if was_launched {
        lost_runs::note(frontend, &claim, lost_runs::cause(*job));
    }
    failpoints::stop!("fini");
    let job = job.id();
    frontend.tell(match keep_until {
        Some(keep_until) => Event::Failed { job, ending, keep_until },
        None => Event::Fini { job, ending },
    });
    if ending == Ending::Held {
        // The host thread is asked after the event, because it forgets runs without a gate that the ledger
        // knows as raised.
        frontend.limit_completion(claim);
    }
}
