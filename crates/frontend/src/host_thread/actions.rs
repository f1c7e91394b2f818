//! The ledger's actions that are carried out under Slurm's locks.

use ledger::{Claim, Event, HostAction, Seconds};
use tracing::{info, warn};
use vipu_conf::OnPartitionError;
use vipu_types::Reason;

use super::end_job::{BEGIN_SOON, Outcome, end, fail_run, starting, tell};
use super::node_questions::LeftRun;
use crate::frontend::Frontend;
use crate::internal_error::INTERNAL;
use crate::internal_error::guard;
use crate::mutex::lock;
use crate::slurm::{Job, JobMut, Locked};
use crate::{accounting, launch_mark, show_partition};

/// Work for after the locks are released.
#[derive(Default)]
pub(super) struct Afterwards {
    pub(super) completed: Vec<u32>,
    pub(super) suspended: Vec<Claim>,
    /// The runs of an earlier slurmctld of which processes may be left, once they are known.
    pub(super) left: Option<Vec<LeftRun>>,
    pub(super) kick: bool,
    /// What was told of jobs whose partitions are being made.
    pub(super) told: Vec<(u32, Reason)>,
    /// The times at which requeued jobs may begin again.
    pub(super) begins: Vec<Seconds>,
}

/// Carries out an action. If that panics, the job still ends, so that it does not wait for ever.
pub(super) fn act_or_end(
    frontend: &Frontend,
    slurm: &mut impl Locked,
    action: HostAction,
    afterwards: &mut Afterwards,
) {
    let (call, job) = called(&action);
    let again = action.clone();
    let done = guard(&|| format!("{call} of job {job}"), false, || {
        act(frontend, slurm, action, afterwards);
        true
    });
    if !done {
        guard(&|| format!("end of job {job}"), (), || end_run(frontend, slurm, again, afterwards));
    }
}

/// The name of an action and its job, for the error line of a panic. The name is also that of a failpoint.
fn called(action: &HostAction) -> (&'static str, u32) {
    match action {
        HostAction::OpenLaunch(claim) => ("open_launch", claim.run.job),
        HostAction::FailRun(claim, _) => ("fail_run", claim.run.job),
        HostAction::SendBack(claim, _) => ("send_back", claim.run.job),
        HostAction::DropLaunch(claim) => ("drop_launch", claim.run.job),
        HostAction::OpenCompletion { claim, .. } => ("open_completion", claim.run.job),
        HostAction::Broken(claim, _) => ("broken", claim.run.job),
        HostAction::TellRelocated(claim) => ("tell_relocated", claim.run.job),
        HostAction::AwaitNodes(claim) => ("await_nodes", claim.run.job),
        HostAction::EndKeep(claim, _) => ("end_keep", claim.run.job),
        HostAction::KickScheduler => ("kick_scheduler", 0),
    }
}

/// Ends the run whose action panicked.
fn end_run(frontend: &Frontend, slurm: &mut impl Locked, action: HostAction, afterwards: &mut Afterwards) {
    match action {
        HostAction::OpenLaunch(claim) if was_launched(slurm, &claim) => {
            frontend.tell(Event::Launched(claim.partition));
        }
        HostAction::OpenLaunch(claim) => {
            let job = claim.run.job;
            fail_run(frontend, slurm, claim, INTERNAL, Outcome::Held);
            // The ledger counts the gate as opened, and sends no other action for it.
            slurm.open_launch_gate(job);
            begin_soon(slurm.job(job), afterwards);
        }
        HostAction::FailRun(claim, _) | HostAction::SendBack(claim, _)
            if starting(slurm, claim.run).is_some() =>
        {
            slurm.end_failed(claim.run.job);
        }
        HostAction::OpenCompletion { claim, .. } => afterwards.completed.push(claim.run.job),
        _ => {}
    }
}

fn act(frontend: &Frontend, slurm: &mut impl Locked, action: HostAction, afterwards: &mut Afterwards) {
    match action {
        HostAction::OpenLaunch(claim) => open_launch(frontend, slurm, claim, afterwards),
        HostAction::FailRun(claim, reason) => {
            accounting::fail_line(frontend, &claim);
            fail_run(frontend, slurm, claim, &reason, Outcome::Held);
        }
        HostAction::SendBack(claim, reason) => fail_run(frontend, slurm, claim, &reason, Outcome::SentBack),
        HostAction::Broken(claim, words) => {
            accounting::fail_line(frontend, &claim);
            let policy = frontend.models().on_partition_error(&claim.model);
            broken(policy, slurm, &claim, &words);
        }
        HostAction::TellRelocated(claim) => {
            let text = format!(
                "vipu: partition {} was moved to other IPUs; what starts from now on finds them",
                claim.partition
            );
            tell(slurm, claim.run.job, &text);
        }
        HostAction::DropLaunch(claim) => slurm.open_launch_gate(claim.run.job),
        HostAction::OpenCompletion { claim, launch_raised } => {
            if let Some(mut job) = slurm.job(claim.run.job) {
                accounting::end_line(frontend, &mut job, &claim, launch_raised);
                show_partition::forget(&mut job);
            }
            if launch_raised {
                slurm.open_launch_gate(claim.run.job);
            }
            // A begin time after the run's start is a pause (keep_and_requeue). If it were over by now, Slurm would
            // wait two minutes.
            let requeued =
                slurm.job(claim.run.job).filter(|job| launch_raised || job.begin_time() > job.start_time());
            begin_soon(requeued, afterwards);
            afterwards.completed.push(claim.run.job);
        }
        HostAction::KickScheduler => afterwards.kick = true,
        // Both actions are in lists of periodic looks already: see `HostThread::sort`.
        HostAction::AwaitNodes(_) | HostAction::EndKeep(..) => {}
    }
}

/// Lets a requeued job begin soon, or when its pause is over.
fn begin_soon(job: Option<impl JobMut>, afterwards: &mut Afterwards) {
    if let Some(mut job) = job.filter(|job| job.is_pending()) {
        job.begin_soon(BEGIN_SOON);
        afterwards.begins.push(Seconds(job.begin_time()));
    }
}

/// Opens the launch gate, so that the job starts if its run is still there. The gate is lowered in any case.
/// The gate of a suspended job stays up until the job is resumed: Slurm would not launch it before.
fn open_launch(frontend: &Frontend, slurm: &mut impl Locked, claim: Claim, afterwards: &mut Afterwards) {
    let mut starts = false;
    if let Some(mut job) = starting(slurm, claim.run) {
        if job.is_suspended() {
            return afterwards.suspended.push(claim);
        }
        accounting::clear(frontend, &mut job);
        launch_mark::forget(&mut job);
        show_partition::show_made(&mut job, &claim);
        accounting::begin_line(frontend, &mut job, &claim);
        job.configure_again();
        starts = true;
    }
    let launched_before =
        lock(&frontend.before.launched).remove(&(claim.partition.clone(), claim.run.job)).filter(|_| starts);
    match launched_before {
        Some(at) => {
            info!("{}: an earlier slurmctld has launched it; it is not launched again", claim.run);
            slurm.open_launch_gate_of_launched(claim.run.job, at);
        }
        None => slurm.open_launch_gate(claim.run.job),
    }
    if let Some(mut job) = slurm.job(claim.run.job).filter(|_| starts) {
        job.end_by_deadline();
        if launched_before.is_none() && job.is_batch() {
            let now = frontend.outside().unix_time();
            frontend.outside().note_launched(claim.clone(), now);
        }
    }
    failpoints::stop!("launch");
    frontend.tell(if starts {
        Event::Launched(claim.partition)
    } else {
        Event::RunVanished(claim.partition)
    });
}

fn was_launched(slurm: &mut impl Locked, claim: &Claim) -> bool {
    let run = claim.run;
    slurm.job(run.job).is_some_and(|job| {
        let same_run = job.restart_count() == run.restart && job.start_time() == run.start;
        same_run && job.is_running() && !job.is_configuring()
    })
}

/// Tells a running job that its partition failed, and ends the job if the site wants that.
fn broken(policy: OnPartitionError, slurm: &mut impl Locked, claim: &Claim, words: &str) {
    let Some(job) = slurm.job(claim.run.job) else { return };
    if job.restart_count() != claim.run.restart || !(job.is_running() || job.is_suspended()) {
        return;
    }
    drop(job);
    let id = claim.run.job;
    let text = format!("vipu: partition {} failed: {words}", claim.partition);
    tell(slurm, id, &text);
    let outcome = match policy {
        OnPartitionError::Leave => "it runs on",
        OnPartitionError::Requeue => end(slurm, id, Outcome::Requeued),
        OnPartitionError::Kill => end(slurm, id, Outcome::Failed),
    };
    warn!("{}: {text}; {outcome} (OnPartitionError={})", claim.run, policy.name());
}
