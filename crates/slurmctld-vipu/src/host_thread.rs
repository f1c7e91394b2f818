//! The vipu-host thread: the only one that takes slurmctld's locks.
//!
//! What is due together goes under one lock. Under it, Slurm functions may call our callbacks back on this
//! thread (a requeue runs job_fini), so the ledger is never locked while one of them is called.

use std::collections::HashMap;
use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ledger::{Action, Claim, Event};
use slurm_host::boundary;
use slurm_host::locks::{HostThread, Locked};
use tracing::{info, warn};
use vipu_types::PartitionId;

use crate::site::{HostTask, Site};

/// How often ended jobs are asked whether their nodes are done: most are within a second.
const NODES_POLL: Duration = Duration::from_millis(25);

/// The same for jobs whose nodes take long.
const NODES_POLL_LATER: Duration = Duration::from_millis(250);

/// Starts the thread.
pub(crate) fn start(tasks: Receiver<HostTask>, site: Weak<Site>) -> Result<(), String> {
    HostThread::spawn("vipu-host", move |slurm| Worker { site, slurm, waiting: Vec::new() }.run(&tasks))
}

struct Worker {
    site: Weak<Site>,
    slurm: HostThread,
    waiting: Vec<EndedJob>,
}

/// A job that has ended on nodes that may not be done with it.
struct EndedJob {
    job: u32,
    partition: PartitionId,
    since: Instant,
    patience: Duration,
}

/// What is to be done once the locks are released again.
#[derive(Default)]
struct Afterwards {
    completed: Vec<u32>,
    kick: bool,
}

impl Worker {
    fn run(mut self, tasks: &Receiver<HostTask>) {
        loop {
            let first = match tasks.recv_timeout(self.pause()) {
                Ok(task) => Some(task),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(site) = self.site.upgrade() else { return };
            let batch: Vec<_> = first.into_iter().chain(tasks.try_iter()).collect();
            if !batch.is_empty() {
                self.work(&site, batch);
            }
            self.ask_nodes(&site);
        }
    }

    fn pause(&self) -> Duration {
        match self.waiting.iter().map(|ended| ended.since.elapsed()).min() {
            Some(age) if age < Duration::from_secs(1) => NODES_POLL,
            Some(_) => NODES_POLL_LATER,
            None => Duration::MAX,
        }
    }

    fn work(&mut self, site: &Site, batch: Vec<HostTask>) {
        let mut reasons = HashMap::new();
        let mut actions = Vec::new();
        for task in batch {
            match task {
                HostTask::Act(Action::AwaitNodes(claim)) => self.await_nodes(site, claim),
                HostTask::Act(action) => actions.push(action),
                HostTask::ShowReason { job, text } => drop(reasons.insert(job, text)),
            }
        }
        let mut afterwards = Afterwards::default();
        if !(actions.is_empty() && reasons.is_empty()) {
            let mut slurm = self.slurm.write();
            if site.is_closed() {
                return; // Slurm has read its jobs anew while this waited for the lock.
            }
            for action in actions {
                boundary::guard(&|| "vipu-host".into(), (), || {
                    act(site, &mut slurm, action, &mut afterwards);
                });
            }
            for (job, text) in reasons {
                show_reason(&mut slurm, job, &text);
            }
        }
        for job in afterwards.completed {
            self.slurm.open_completion_gate(job);
        }
        if afterwards.kick {
            self.slurm.kick_scheduler();
        }
    }

    fn await_nodes(&mut self, site: &Site, claim: Claim) {
        let patience = site.models(|models| models.remove_wait(&claim.model));
        self.waiting.push(EndedJob {
            job: claim.run.job,
            partition: claim.partition,
            since: Instant::now(),
            patience,
        });
    }

    /// Reports the ended jobs whose nodes are done, or were waited for long enough.
    fn ask_nodes(&mut self, site: &Site) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let (done, still): (Vec<_>, Vec<_>) = self.slurm.read(|nodes_done| {
            waiting.into_iter().partition(|ended| {
                let late = ended.since.elapsed() >= ended.patience;
                late || nodes_done(ended.job).is_none_or(|nodes| nodes.0)
            })
        });
        self.waiting = still;
        for ended in done {
            site.tell(Event::NodesDone(ended.partition));
        }
    }
}

fn act(site: &Site, slurm: &mut Locked<'_>, action: Action, afterwards: &mut Afterwards) {
    match action {
        Action::OpenLaunch(claim) => open_launch(site, slurm, claim),
        Action::FailRun(claim, reason) => fail_run(site, slurm, claim, &reason, true),
        Action::SendBack(claim, reason) => fail_run(site, slurm, claim, &reason, false),
        Action::DropLaunch(claim) => slurm.open_launch_gate(claim.run.job),
        Action::OpenCompletion { claim, launch_raised } => {
            if launch_raised {
                slurm.open_launch_gate(claim.run.job);
                if let Some(mut job) = slurm.job(claim.run.job).filter(|job| job.is_pending()) {
                    job.begin_soon();
                }
            }
            afterwards.completed.push(claim.run.job);
        }
        Action::KickScheduler => afterwards.kick = true,
        // The others are the driver's or were taken out before: Handle::route and Worker::work.
        other => warn!("not an action of this thread: {other:?}"),
    }
}

/// Lets the job start, if it is still there to start; the gate is lowered in any case.
fn open_launch(site: &Site, slurm: &mut Locked<'_>, claim: Claim) {
    let starts = is_starting(slurm, &claim);
    slurm.open_launch_gate(claim.run.job);
    site.tell(if starts { Event::Launched(claim.partition) } else { Event::RunVanished(claim.partition) });
}

fn is_starting(slurm: &mut Locked<'_>, claim: &Claim) -> bool {
    slurm.job(claim.run.job).is_some_and(|job| {
        let same_run = job.restart_count() == claim.run.restart && job.start_time() == claim.run.start;
        // A job suspended meanwhile is no longer CONFIGURING, and keeps what it has.
        same_run && (job.is_running() && job.is_configuring() || job.is_suspended())
    })
}

/// Ends a run whose partition could not be made: a batch job goes back into the queue, held or not.
fn fail_run(site: &Site, slurm: &mut Locked<'_>, claim: Claim, reason: &str, hold: bool) {
    let text = format!("vipu: {reason}");
    if !is_starting(slurm, &claim) {
        site.tell(Event::RunVanished(claim.partition));
        return;
    }
    let id = claim.run.job;
    slurm.tell_user(id, &text);
    let Some(mut job) = slurm.job(id) else { return };
    job.add_system_comment(&text);
    // A heterogeneous job is requeued as a whole, by its leader.
    let whole = if job.het_job() == 0 { id } else { job.het_job() };
    let requeued = job.is_batch() && slurm.requeue(whole, hold);
    if !requeued {
        slurm.end_failed(whole);
    }
    if let Some(mut job) = slurm.job(id) {
        job.set_reason(&text);
    }
    let outcome = match (requeued, hold) {
        (true, true) => "requeued and held",
        (true, false) => "requeued",
        (false, _) => "ended",
    };
    info!("{}: {outcome} ({text})", claim.run);
}

/// Writes the reason over Slurm's own; a job that is held or waits for something else meanwhile is left alone.
fn show_reason(slurm: &mut Locked<'_>, job: u32, text: &str) {
    if let Some(mut job) = slurm.job(job)
        && job.waits_in_line()
        && job.reason().as_deref() != Some(text)
    {
        job.set_reason(text);
    }
}
