//! The work of the host thread, the only thread that may take slurmctld's locks.
//!
//! Tasks that are due together run under one lock. Functions of Slurm may call the plugin's callbacks on this
//! thread: a requeue runs job_fini. Therefore the ledger is never locked while a function of Slurm is called.

mod actions;
mod counts_recheck;
mod end_job;
mod ended_jobs;
mod job_deadlines;
mod jobs_to_see;
mod kept_partitions;
pub(crate) mod lost_runs;
mod node_questions;
mod prepared_recheck;
mod reason_recheck;
mod terminals;
mod waiting_tasks;
mod watch_list;

use std::cell::Cell;
use std::time::Duration;

use ledger::{Awaits, Claim, Ending, Event, HostAction, Seconds};
use vipu_types::{JobRun, Reason};

use self::actions::{Afterwards, act_or_end};
use self::end_job::BEGIN_SOON;
use self::end_job::starting;
use self::ended_jobs::EndedJobs;
use self::job_deadlines::Deadlines;
use self::jobs_to_see::JobsToSee;
use self::node_questions::NodeQuestions;
use self::reason_recheck::ReasonRecheck;
use self::terminals::Terminals;
use self::waiting_tasks::WaitingTasks;
use self::watch_list::{WatchList, after};
use crate::clocks_and_queues::{HostTask, LostRuns};
use crate::frontend::Frontend;
use crate::internal_error::guard;
use crate::licenses;
use crate::scheduling::not_told;
use crate::slurm::{Job, JobMut, Locked, Slurm};
use crate::{accounting, callbacks, keep_and_requeue, show_partition};

/// The time between two looks at a suspended job that has its partition.
const SUSPENDED_POLL: Duration = Duration::from_millis(250);

/// The time between two looks whether a slurmctld that has begun to end goes on, as after a failed reconfigure.
const ENDING_POLL: Duration = Duration::from_millis(250);

/// The delay of the scheduler's wake-up after the time at which a job may begin. Slurm's clock has whole
/// seconds.
const WAKE_MARGIN: Duration = Duration::from_millis(50);

/// Everything that the host thread looks at from time to time.
#[derive(Default)]
pub struct HostThread {
    ended_jobs: EndedJobs,
    node_questions: NodeQuestions,
    /// Jobs that have their partition, and were suspended before they were launched.
    suspended: WatchList<Claim>,
    /// Partitions that are made while their jobs wait.
    prepared: WatchList<Claim>,
    /// Partitions of failed jobs that stay, each with the end of its stay.
    kept: WatchList<(Claim, Seconds)>,
    deadlines: Deadlines,
    /// Times to wake Slurm's scheduler, for jobs that were requeued and may begin again then. Nothing else wakes
    /// it: the jobs would wait for backfill or the next pass.
    wakes: WatchList<()>,
    /// Running jobs whose IPUs Slurm has counted.
    counted: WatchList<Claim>,
    reasons: ReasonRecheck,
    terminals: Terminals,
    jobs_to_see: JobsToSee,
    /// Whether to look at the reservations of licences.
    looks_at_reservations: bool,
    /// Tasks that have come. They stay here once slurmctld has begun to end, and are carried out if it goes on.
    tasks: WaitingTasks,
    /// Work that is due now.
    due: Due,
}

impl HostThread {
    /// The time until the next look, if no task comes before.
    #[must_use]
    pub fn pause(&self, frontend: &Frontend) -> Duration {
        if frontend.outside().is_ending() {
            return ENDING_POLL;
        }
        if !self.jobs_to_see.is_empty() || !self.tasks.is_empty() || !self.due.is_empty() {
            return Duration::ZERO;
        }
        let now = frontend.now();
        let next = [
            self.ended_jobs.next(),
            self.node_questions.next(),
            self.suspended.next(),
            self.prepared.next(),
            self.kept.next(),
            self.deadlines.next(),
            self.wakes.next(),
            self.counted.next(),
            self.reasons.next(),
            self.terminals.next(),
        ];
        let next = next.into_iter().flatten().min();
        next.map_or(Duration::MAX, |next| watch_list::since(now, next))
    }

    /// Carries out these tasks, and looks at everything that is due.
    pub fn work(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, tasks: Vec<HostTask>) {
        self.tasks.add(tasks);
        if frontend.outside().is_ending() {
            // A launch would be lost, and the next slurmctld takes over what is left. Slurm saves its records once more,
            // without what was entered for a moment.
            self.due.settles |= self.tasks.take_out(|task| matches!(task, HostTask::SettleAccounting));
            self.do_due(frontend, slurm);
            return;
        }
        for task in self.tasks.take_some() {
            self.sort(frontend, slurm, task);
        }
        self.do_due(frontend, slurm);
        let launches = self.node_questions.look(frontend, slurm);
        launches.into_iter().for_each(|launch| self.sort(frontend, slurm, launch));
        self.do_due(frontend, slurm);
        let begins = self.node_questions.take_begins();
        self.wake_at(frontend, begins);
        self.ended_jobs.look(frontend, slurm, &self.node_questions);
        prepared_recheck::look(&mut self.prepared, frontend, slurm);
        kept_partitions::look(&mut self.kept, frontend, slurm);
        job_deadlines::look(&mut self.deadlines, frontend, slurm);
        counts_recheck::look(&mut self.counted, frontend, slurm);
        self.show_reasons(frontend, slurm);
        let news = self.reasons.look(frontend, slurm);
        news.into_iter().for_each(|job| self.jobs_to_see.add_news(frontend, job));
        self.terminals.look(frontend, slurm, &self.reasons);
        self.launch_resumed(frontend, slurm);
        self.jobs_to_see.look(frontend, slurm, &self.reasons);
        if std::mem::take(&mut self.looks_at_reservations) {
            licenses::look(frontend, slurm);
        }
        let now = frontend.now();
        if !self.wakes.take(now).is_empty() {
            slurm.kick_scheduler();
        }
    }

    /// Does the work that is due. Once slurmctld has begun to end, it only takes back what was entered in Slurm's records.
    fn do_due(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        if self.due.is_empty() || frontend.outside().is_ending() && !self.due.settles {
            return;
        }
        let mut afterwards = Afterwards::default();
        {
            let mut slurm = slurm.write();
            if frontend.is_closed() {
                self.due = Due::default();
                return; // Slurm has read its jobs anew while this waited for the lock.
            }
            if frontend.outside().is_ending() {
                if std::mem::take(&mut self.due.settles) {
                    guard(&|| "accounting".into(), (), || accounting::settle(frontend, &mut slurm));
                }
                return;
            }
            let due = std::mem::take(&mut self.due);
            due.carry_out(frontend, &mut slurm, &mut afterwards);
        }
        let now = frontend.now();
        for (job, progress) in afterwards.told {
            self.reasons.tell(now, job, progress);
            self.jobs_to_see.add_news(frontend, job);
        }
        if let Some(left) = afterwards.left {
            left.into_iter().for_each(|run| self.node_questions.ask_for_processes(frontend, run));
            frontend.note_journal_read();
            afterwards.kick = true;
        }
        for claim in afterwards.suspended {
            self.suspended.watch(after(now, SUSPENDED_POLL), claim);
        }
        for job in afterwards.completed {
            slurm.open_completion_gate(job);
        }
        self.wake_at(frontend, afterwards.begins);
        if afterwards.kick {
            slurm.kick_scheduler();
        }
    }

    /// Wakes the scheduler when jobs may begin.
    fn wake_at(&mut self, frontend: &Frontend, begins: Vec<Seconds>) {
        for begin in begins {
            let delay = begin.since(frontend.outside().unix_time());
            self.wakes.watch(after(frontend.now(), delay + WAKE_MARGIN), ());
        }
    }

    /// Puts a task into the list of its periodic looks, or among the work that is due now.
    fn sort(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, task: HostTask) {
        let (now, due) = (frontend.now(), &mut self.due);
        match task {
            HostTask::Act(HostAction::AwaitNodes(claim)) => self.ended_jobs.await_nodes(frontend, claim),
            HostTask::Act(HostAction::OpenLaunch(claim)) => match self.node_questions.hold_launch(&claim) {
                Some(node) => due.progress.push((claim.run, not_told(node), false)),
                None => due.actions.push(HostAction::OpenLaunch(claim)),
            },
            HostTask::AskForScript(script) => self.node_questions.ask_for_script(frontend, script),
            HostTask::TakeOver(lost) => due.lost = Some(lost),
            HostTask::NodesTold(jobs) => {
                let launches = self.node_questions.told(frontend, slurm, jobs);
                launches.into_iter().for_each(|launch| self.sort(frontend, slurm, launch));
            }
            HostTask::Act(HostAction::EndKeep(claim, until)) => {
                self.kept.watch(after(now, kept_partitions::POLL), (claim, until));
            }
            HostTask::Limit(claim) => self.ended_jobs.limit(frontend, claim),
            HostTask::Watch(claim) => self.prepared.watch(after(now, prepared_recheck::POLL), claim),
            HostTask::WatchCount(claim) => {
                // A resized job is counted once more.
                self.counted.retain(|known| known.partition != claim.partition);
                self.counted.watch(after(now, counts_recheck::POLL), claim);
            }
            HostTask::Act(action) => due.actions.push(action),
            HostTask::ShowReason { .. } => self.tasks.add([task]),
            HostTask::WatchReason(job) => self.reasons.watch(now, job),
            HostTask::SayCreating { run, progress, aloud } => due.progress.push((run, progress, aloud)),
            HostTask::Deadline(claim, at) => job_deadlines::watch(&mut self.deadlines, frontend, claim, at),
            HostTask::LookAtJobs { jobs, and_all_pending } => {
                self.jobs_to_see.add(jobs, and_all_pending);
                self.looks_at_reservations |= and_all_pending;
            }
            HostTask::SettleAccounting => due.settles = true,
            HostTask::Requeue(run, begin) => due.requeues.push((run, begin)),
            HostTask::End { job, ending } => due.ends.push((job, ending)),
        }
    }

    /// Shows the reasons of waiting jobs, after everything else.
    fn show_reasons(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        let reasons = self.tasks.take_reasons();
        if reasons.is_empty() {
            return;
        }
        let (now, mut slurm) = (frontend.now(), slurm.write());
        if frontend.is_closed() {
            return;
        }
        for (job, reason) in reasons {
            let show = || show_reason(&mut slurm, job, &reason.brief);
            let Some(has_terminal) = guard(&|| format!("reason of job {job}"), None, show) else { continue };
            if has_terminal {
                self.terminals.waits(job, now);
            }
            if self.reasons.tell(now, job, reason) {
                self.jobs_to_see.add_news(frontend, job);
            }
        }
    }

    /// Launches the jobs that are not suspended any more, because they were resumed or have ended.
    fn launch_resumed(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        let claims = self.suspended.due(frontend.now(), |_| SUSPENDED_POLL);
        if claims.is_empty() {
            return;
        }
        let jobs: Vec<u32> = claims.iter().map(|claim| claim.run.job).collect();
        let suspended = slurm.look_at(&jobs, |job| job.is_suspended());
        let is_resumed = |(_, suspended): &(&Claim, Option<bool>)| !suspended.unwrap_or(false);
        let resumed: Vec<Claim> =
            claims.iter().zip(suspended).filter(is_resumed).map(|(claim, _)| claim.clone()).collect();
        self.suspended.retain(|claim| !resumed.contains(claim));
        let launches = resumed
            .into_iter()
            .filter(|claim| frontend.ledger().awaits(claim) == Some(Awaits::Launch))
            .map(HostAction::OpenLaunch);
        self.due.actions.extend(launches);
        self.do_due(frontend, slurm);
    }
}

/// Work that needs the job write lock.
#[derive(Default)]
struct Due {
    /// Whether something is to be taken back in Slurm's records.
    settles: bool,
    progress: Vec<(JobRun, Reason, bool)>,
    actions: Vec<HostAction>,
    ends: Vec<(u32, Option<Ending>)>,
    requeues: Vec<(JobRun, Seconds)>,
    /// Runs of an earlier slurmctld.
    lost: Option<LostRuns>,
}

impl Due {
    fn is_empty(&self) -> bool {
        !self.settles
            && self.progress.is_empty()
            && self.actions.is_empty()
            && self.ends.is_empty()
            && self.requeues.is_empty()
            && self.lost.is_none()
    }

    fn carry_out(self, frontend: &Frontend, slurm: &mut impl Locked, afterwards: &mut Afterwards) {
        if self.settles {
            guard(&|| "accounting".into(), (), || accounting::settle(frontend, slurm));
        }
        for (run, progress, aloud) in self.progress {
            let say = || say_creating(slurm, run, &progress, aloud);
            if guard(&|| format!("line for {run}"), false, say) {
                afterwards.told.push((run.job, progress));
            }
        }
        if let Some(lost) = self.lost {
            lost_runs::take_over(frontend, slurm, lost, afterwards);
        }
        for action in self.actions {
            act_or_end(frontend, slurm, action, afterwards);
        }
        for (job, ending) in self.ends {
            guard(&|| format!("end of job {job}"), (), || end_late(frontend, slurm, job, ending));
        }
        for (run, begin) in self.requeues {
            // The completion gate may be opened already.
            let begin = begin.max(frontend.outside().unix_time().later_by(BEGIN_SOON));
            let requeue = || keep_and_requeue::requeue(slurm, run, begin);
            let is_back = guard(&|| format!("requeue of {run}"), false, requeue);
            afterwards.begins.extend(is_back.then_some(begin));
        }
    }
}

/// Finishes a job_fini that panicked.
fn end_late(frontend: &Frontend, slurm: &mut impl Locked, job: u32, ending: Option<Ending>) {
    if let Some(ending) = ending {
        let held = frontend.ledger().live_claim(job).cloned().filter(|_| ending == Ending::Held);
        frontend.tell(Event::Fini { job, ending });
        return held.into_iter().for_each(|claim| frontend.limit_completion(claim));
    }
    match slurm.job(job) {
        // The next run has begun since, and has ended this one in the ledger.
        Some(job) if job.is_running() && !job.is_completing() => {}
        Some(job) => callbacks::job_fini(frontend, job, &Cell::default()),
        None => {
            frontend.tell(Event::Fini { job, ending: Ending::Unheld });
        }
    }
}

/// Shows the progress of a create in squeue, for a job that has its nodes, and at its terminal if `aloud`.
/// Returns whether the job still waits for its partition.
fn say_creating(slurm: &mut impl Locked, run: JobRun, progress: &Reason, aloud: bool) -> bool {
    if aloud {
        slurm.tell_terminal(run.job, &progress.line);
    }
    starting(slurm, run).is_some_and(|mut job| show_partition::show_creating(&mut job, progress))
}

/// Writes the reason over Slurm's own. A job that is held, or waits for something else by now, is left alone.
/// Returns whether it is shown at a terminal as well, or None for those jobs.
fn show_reason(slurm: &mut impl Locked, job: u32, text: &str) -> Option<bool> {
    let mut job = slurm.job(job).filter(|job| job.waits_in_line())?;
    if job.reason().as_deref() != Some(text) {
        job.set_reason(text);
    }
    Some(!job.is_batch())
}
