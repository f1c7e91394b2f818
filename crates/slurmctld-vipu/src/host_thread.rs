//! The vipu-host thread: the only one that takes slurmctld's locks.
//!
//! What is due together goes under one lock. Under it, Slurm functions may call our callbacks back on this
//! thread (a requeue runs job_fini), so the ledger is never locked while one of them is called.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ledger::{Action, Claim, Ending, Event};
use slurm_host::boundary;
use slurm_host::job::JobMut;
use slurm_host::locks::{HostThread, Locked};
use tracing::{info, warn};
use vipu_conf::OnPartitionError;
use vipu_types::JobRun;

use crate::callbacks;
use crate::endings::Endings;
use crate::internal_error::INTERNAL;
use crate::job_deadlines::Deadlines;
use crate::keep_and_requeue;
use crate::kept_partitions::KeptPartitions;
use crate::launch_mark;
use crate::phase;
use crate::plugin::{HostTask, Plugin};
use crate::prepared::Prepared;
use crate::reasons::Reasons;
use crate::suspended::Suspended;
use crate::sync::lock;
use crate::terminals::Terminals;
use crate::wakes::Wakes;

/// Starts the thread.
pub(crate) fn start(tasks: Receiver<HostTask>, plugin: Weak<Plugin>) -> Result<(), String> {
    HostThread::spawn("vipu-host", move |slurm| {
        Worker {
            plugin,
            slurm,
            endings: Endings::default(),
            suspended: Suspended::default(),
            wakes: Wakes::default(),
            prepared: Prepared::default(),
            kept_partitions: KeptPartitions::default(),
            job_deadlines: Deadlines::default(),
            reasons: Reasons::default(),
            terminals: Terminals::default(),
        }
        .run(&tasks)
    })
}

struct Worker {
    plugin: Weak<Plugin>,
    slurm: HostThread,
    endings: Endings,
    suspended: Suspended,
    wakes: Wakes,
    prepared: Prepared,
    kept_partitions: KeptPartitions,
    job_deadlines: Deadlines,
    reasons: Reasons,
    terminals: Terminals,
}

/// What is to be done once the locks are released again.
#[derive(Default)]
struct Afterwards {
    completed: Vec<u32>,
    suspended: Vec<Claim>,
    kick: bool,
    begins_soon: bool,
}

impl Worker {
    fn run(mut self, tasks: &Receiver<HostTask>) {
        loop {
            let pauses = [
                self.endings.pause(),
                self.suspended.pause(),
                self.prepared.pause(),
                self.kept_partitions.pause(),
                self.job_deadlines.pause(),
                self.reasons.pause(),
                self.terminals.pause(Instant::now()),
                self.wakes.pause(Instant::now()),
            ];
            let pause = pauses.into_iter().min().unwrap_or(Duration::MAX);
            let first = match tasks.recv_timeout(pause) {
                Ok(task) => Some(task),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(plugin) = self.plugin.upgrade() else { return };
            let batch: Vec<_> = first.into_iter().chain(tasks.try_iter()).collect();
            // What may panic for one job has a guard of its own. For whatever else does, orders may be lost.
            boundary::guard_else(
                &|| "vipu-host".into(),
                || plugin.distrust(),
                || {
                    if !batch.is_empty() {
                        self.work(&plugin, batch);
                    }
                    self.endings.look(&plugin, &mut self.slurm);
                    self.prepared.look(&plugin, &mut self.slurm);
                    self.kept_partitions.look(&plugin, &mut self.slurm);
                    self.job_deadlines.look(&plugin, &mut self.slurm);
                    self.reasons.look(&plugin, &mut self.slurm);
                    self.terminals.look(&mut self.slurm);
                    let resumed = self.suspended.look(&mut self.slurm).into_iter();
                    self.work(
                        &plugin,
                        resumed.map(|claim| HostTask::Act(Action::OpenLaunch(claim))).collect(),
                    );
                    if self.wakes.are_due(Instant::now()) {
                        self.slurm.kick_scheduler();
                    }
                },
            );
        }
    }

    fn work(&mut self, plugin: &Plugin, batch: Vec<HostTask>) {
        let mut reasons = HashMap::new();
        let (mut actions, mut ended, mut told, mut failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for task in batch {
            match task {
                HostTask::Act(Action::AwaitNodes(claim)) => self.endings.await_nodes(plugin, claim),
                HostTask::Act(Action::Keep(claim, until)) => self.kept_partitions.watch(claim, until),
                HostTask::Limit(claim) => self.endings.limit(plugin, claim),
                HostTask::Watch(claim) => self.prepared.watch(claim),
                HostTask::Act(action) => actions.push(action),
                HostTask::ShowReason { job, text } => {
                    self.reasons.watch(job);
                    reasons.insert(job, text);
                }
                HostTask::WatchReason(job) => self.reasons.watch(job),
                HostTask::SayCreating { run, line, aloud } => told.push((run, line, aloud)),
                HostTask::Deadline(claim, at) => self.job_deadlines.watch(claim, at),
                HostTask::Requeue(run) => failed.push(run),
                HostTask::End { job, ending } => ended.push((job, ending)),
            }
        }
        let mut afterwards = Afterwards::default();
        let is_idle = actions.is_empty() && ended.is_empty() && told.is_empty() && failed.is_empty();
        if !(is_idle && reasons.is_empty()) {
            let mut slurm = self.slurm.write();
            if plugin.is_closed() {
                return; // Slurm has read its jobs anew while this waited for the lock.
            }
            for (run, line, aloud) in told {
                boundary::guard(&|| format!("line for {run}"), (), || {
                    say_creating(&mut slurm, run, &line, aloud)
                });
            }
            for action in actions {
                act_or_end(plugin, &mut slurm, action, &mut afterwards);
            }
            for (job, ending) in ended {
                boundary::guard(&|| format!("end of job {job}"), (), || {
                    end_late(plugin, &mut slurm, job, ending)
                });
            }
            for run in failed {
                boundary::guard(&|| format!("requeue of {run}"), (), || {
                    keep_and_requeue::requeue(&mut slurm, run);
                });
            }
            for (job, text) in reasons {
                boundary::guard(&|| format!("reason of job {job}"), (), || {
                    if show_reason(&mut slurm, job, &text) {
                        self.terminals.waits(job, Instant::now());
                    }
                });
            }
        }
        self.suspended.await_resumed(afterwards.suspended);
        for job in afterwards.completed {
            self.slurm.open_completion_gate(job);
        }
        if afterwards.begins_soon {
            self.wakes.set(Instant::now());
        }
        if afterwards.kick {
            self.slurm.kick_scheduler();
        }
    }
}

/// Carries an action out. Should that panic, the job ends all the same: it must not wait for ever.
fn act_or_end(plugin: &Plugin, slurm: &mut Locked<'_>, action: Action, afterwards: &mut Afterwards) {
    let (call, job) = called(&action);
    let again = action.clone();
    let done = boundary::guard(&|| format!("{call} of job {job}"), false, || {
        act(plugin, slurm, action, afterwards);
        true
    });
    if !done {
        boundary::guard(&|| format!("end of job {job}"), (), || end_run(plugin, slurm, again, afterwards));
    }
}

/// For the error line of a panic.
fn called(action: &Action) -> (&'static str, u32) {
    match action {
        Action::OpenLaunch(claim) => ("open_launch", claim.run.job),
        Action::FailRun(claim, _) => ("fail_run", claim.run.job),
        Action::SendBack(claim, _) => ("send_back", claim.run.job),
        Action::DropLaunch(claim) => ("drop_launch", claim.run.job),
        Action::OpenCompletion { claim, .. } => ("open_completion", claim.run.job),
        _ => ("action", 0),
    }
}

/// Ends what an action was for that panicked.
fn end_run(plugin: &Plugin, slurm: &mut Locked<'_>, action: Action, afterwards: &mut Afterwards) {
    match action {
        Action::OpenLaunch(claim) if was_launched(slurm, &claim) => {
            plugin.tell(Event::Launched(claim.partition));
        }
        Action::OpenLaunch(claim) => {
            let job = claim.run.job;
            fail_run(plugin, slurm, claim, INTERNAL, true);
            // The ledger takes it for opened, and asks for no more.
            slurm.open_launch_gate(job);
            if let Some(mut job) = slurm.job(job).filter(|job| job.is_pending()) {
                job.begin_soon();
                afterwards.begins_soon = true;
            }
        }
        Action::FailRun(claim, _) | Action::SendBack(claim, _) if starting(slurm, claim.run).is_some() => {
            slurm.end_failed(claim.run.job);
        }
        Action::OpenCompletion { claim, .. } => afterwards.completed.push(claim.run.job),
        _ => {}
    }
}

/// Does what a job_fini did not come to.
fn end_late(plugin: &Plugin, slurm: &mut Locked<'_>, job: u32, ending: Option<Ending>) {
    if let Some(ending) = ending {
        plugin.tell(Event::Fini { job, ending });
        return;
    }
    match slurm.job(job) {
        // The next run has begun since, which has ended this one.
        Some(job) if job.is_running() && !job.is_completing() => {}
        Some(job) => callbacks::job_fini(plugin, job, &Cell::default()),
        None => {
            plugin.tell(Event::Fini { job, ending: Ending::Unheld });
        }
    }
}

fn act(plugin: &Plugin, slurm: &mut Locked<'_>, action: Action, afterwards: &mut Afterwards) {
    match action {
        Action::OpenLaunch(claim) => open_launch(plugin, slurm, claim, afterwards),
        Action::FailRun(claim, reason) => fail_run(plugin, slurm, claim, &reason, true),
        Action::SendBack(claim, reason) => fail_run(plugin, slurm, claim, &reason, false),
        Action::Broken(claim, words) => broken(plugin, slurm, &claim, &words),
        Action::Relocated(claim) => {
            let text = format!(
                "vipu: partition {} was moved to other IPUs; what starts from now on finds them",
                claim.partition
            );
            tell(slurm, claim.run.job, &text);
        }
        Action::DropLaunch(claim) => slurm.open_launch_gate(claim.run.job),
        Action::OpenCompletion { claim, launch_raised } => {
            if let Some(mut job) = slurm.job(claim.run.job) {
                phase::forget(&mut job, &claim);
            }
            if launch_raised {
                slurm.open_launch_gate(claim.run.job);
                if let Some(mut job) = slurm.job(claim.run.job).filter(|job| job.is_pending()) {
                    job.begin_soon();
                    afterwards.begins_soon = true;
                }
            }
            afterwards.completed.push(claim.run.job);
        }
        Action::KickScheduler => afterwards.kick = true,
        // The others are the driver's or were taken out before: Handle::route and Worker::work.
        other => warn!("not an action of this thread: {other:?}"),
    }
}

/// Says how the making of a partition goes, in squeue of a job that has its nodes, and aloud to who waits at a terminal.
fn say_creating(slurm: &mut Locked<'_>, run: JobRun, line: &str, aloud: bool) {
    if aloud {
        slurm.tell_terminal(run.job, line);
    }
    if let Some(mut job) = starting(slurm, run) {
        phase::show_creating(&mut job, line);
    }
}

/// Lets the job start, if it is still there to start; the gate is lowered in any case, but that of a suspended job is
/// once it is not suspended any more: Slurm would not launch it.
fn open_launch(plugin: &Plugin, slurm: &mut Locked<'_>, claim: Claim, afterwards: &mut Afterwards) {
    let starting = starting(slurm, claim.run);
    if starting.as_ref().is_some_and(|job| job.is_suspended()) {
        return afterwards.suspended.push(claim);
    }
    let begin = |mut job: JobMut<'_>| {
        launch_mark::forget(&mut job);
        phase::show_made(&mut job, &claim);
        job.configure_again();
    };
    let starts = starting.map(begin).is_some();
    let launched_before = lock(&plugin.launched_before).remove(&claim.partition).filter(|_| starts);
    match launched_before {
        Some(at) => {
            info!("{}: an earlier slurmctld has launched it; it is not launched again", claim.run);
            slurm.open_launch_gate_of_launched(claim.run.job, at.0);
        }
        None => slurm.open_launch_gate(claim.run.job),
    }
    if let Some(mut job) = slurm.job(claim.run.job).filter(|_| starts) {
        job.end_by_deadline();
        if launched_before.is_none() && job.is_batch() {
            plugin.note_launched(claim.clone());
        }
    }
    failpoints::stop!("launch");
    plugin.tell(if starts { Event::Launched(claim.partition) } else { Event::RunVanished(claim.partition) });
}

fn was_launched(slurm: &mut Locked<'_>, claim: &Claim) -> bool {
    let run = claim.run;
    slurm.job(run.job).is_some_and(|job| {
        let same_run = job.restart_count() == run.restart && job.start_time() == run.start;
        same_run && job.is_running() && !job.is_configuring()
    })
}

/// The job, if it is still in the run that was not launched yet. One that is or was suspended is no longer CONFIGURING,
/// and keeps what it has.
pub(crate) fn starting<'slurm>(slurm: &'slurm mut Locked<'_>, run: JobRun) -> Option<JobMut<'slurm>> {
    slurm.job(run.job).filter(|job| {
        let same_run = job.restart_count() == run.restart && job.start_time() == run.start;
        same_run && (job.is_running() || job.is_suspended())
    })
}

/// The partition of a running job fails: the job is told, and ended where the site wants that.
fn broken(plugin: &Plugin, slurm: &mut Locked<'_>, claim: &Claim, words: &str) {
    let Some(job) = slurm.job(claim.run.job) else { return };
    if job.restart_count() != claim.run.restart || !(job.is_running() || job.is_suspended()) {
        return;
    }
    let (id, policy) = (job.id(), plugin.models(|models| models.on_partition_error(&claim.model)));
    let text = format!("vipu: partition {} failed: {words}", claim.partition);
    tell(slurm, id, &text);
    let outcome = match policy {
        OnPartitionError::Leave => "it runs on",
        OnPartitionError::Requeue => end(slurm, id, Fate::Requeued),
        OnPartitionError::Kill => end(slurm, id, Fate::Failed),
    };
    warn!("{}: {text}; {outcome} (OnPartitionError={})", claim.run, policy.name());
}

/// Writes a line to the job's terminal and into its comment.
pub(crate) fn tell(slurm: &mut Locked<'_>, job: u32, text: &str) {
    slurm.tell_user(job, text);
    if let Some(mut job) = slurm.job(job) {
        job.add_system_comment(text);
    }
}

/// What becomes of a run that is ended; of one without a batch script it is always [`Fate::Failed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is over.
    Failed,
    /// Back into the queue, if it may be requeued.
    Requeued,
    /// Back into the queue, as it was never launched.
    SentBack,
    /// The same, held.
    Held,
}

/// Ends a job, or the heterogeneous one that it is part of. Says what became of it.
pub(crate) fn end(slurm: &mut Locked<'_>, job: u32, fate: Fate) -> &'static str {
    let Some(seen) = slurm.job(job) else { return "gone" };
    // A heterogeneous job is requeued as a whole, by its leader.
    let whole = if seen.het_job() == 0 { job } else { seen.het_job() };
    let fate = if seen.is_batch() { fate } else { Fate::Failed };
    match fate {
        Fate::Requeued if slurm.requeue(whole, false) => "requeued",
        Fate::SentBack if slurm.send_back(whole, false) => "requeued",
        Fate::Held if slurm.send_back(whole, true) => "requeued and held",
        _ => {
            slurm.end_failed(whole);
            "ended"
        }
    }
}

/// Ends a run whose partition could not be made: a batch job goes back into the queue, held or not.
fn fail_run(plugin: &Plugin, slurm: &mut Locked<'_>, claim: Claim, reason: &str, hold: bool) {
    let text = format!("vipu: {reason}");
    if starting(slurm, claim.run).is_none() {
        plugin.tell(Event::RunVanished(claim.partition));
        return;
    }
    let id = claim.run.job;
    tell(slurm, id, &text);
    let outcome = end(slurm, id, if hold { Fate::Held } else { Fate::SentBack });
    if let Some(mut job) = slurm.job(id) {
        let leader = if job.het_job() == 0 { id } else { job.het_job() };
        let is_held = job.is_pending() && job.priority() == 0;
        let hint = if is_held { format!("; then: scontrol release {leader}") } else { String::new() };
        job.set_reason(&format!("{text}{hint}"));
    }
    info!("{}: {outcome} ({text})", claim.run);
}

/// Writes the reason over Slurm's own; a job that is held or waits for something else meanwhile is left alone. Whether it is to
/// be told at a terminal as well.
fn show_reason(slurm: &mut Locked<'_>, job: u32, text: &str) -> bool {
    let Some(mut job) = slurm.job(job).filter(|job| job.waits_in_line()) else { return false };
    if job.reason().as_deref() != Some(text) {
        job.set_reason(text);
    }
    !job.is_batch()
}
