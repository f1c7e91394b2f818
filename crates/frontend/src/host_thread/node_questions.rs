//! Questions to nodes about runs of an earlier slurmctld ([`crate::take_over`]): which jobs run there?

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ledger::{Awaits, Claim, Event, HostAction, Millis, Seconds};
use tracing::{info, warn};
use vipu_types::{EndedBy, JobRun, PartitionId};

use super::lost_runs::{self, PAUSE_AFTER_LAUNCH};
use super::watch_list::after;
use crate::clocks_and_queues::{HostTask, Script};
use crate::frontend::Frontend;
use crate::mutex::lock;
use crate::slurm::{Job, JobMut, Locked, Slurm};

/// The time between two questions.
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(1);

/// The time in seconds after which a node names a job whose launch is not on record. The record is written some
/// milliseconds after the launch.
const UNRECORDED: i64 = 1;

/// The time in seconds within which a node answers that has not hung. One that has may still have to read a launch.
const PROMPT: i64 = 2;

/// All questions that are not answered.
#[derive(Default)]
pub(super) struct NodeQuestions {
    scripts: Vec<AskedScript>,
    processes: Vec<AskedProcesses>,
    /// The time of the next question.
    next: Millis,
    /// The nodes that have not answered their last question yet, each with the time of the question.
    asked: BTreeMap<String, Seconds>,
    /// The time from which on a node's answers count; `None` if it has not answered yet.
    counts_from: BTreeMap<String, Option<Seconds>>,
    /// The times at which jobs may begin again.
    begins: Vec<Seconds>,
}

/// A script that may have been launched.
struct AskedScript {
    /// Its job: the leader, if the job is heterogeneous.
    job: u32,
    host: String,
    /// The time from which on its node names it, if it was launched.
    named_from: Seconds,
    /// The components of the job that have IPUs, or the job alone.
    components: Vec<Component>,
}

struct Component {
    claim: Claim,
    /// The time of its launch that is on record.
    launched: Option<Seconds>,
    /// Whether its partition is ready, and the launch waits for the answer alone.
    is_ready: bool,
}

/// A run of an earlier slurmctld of which processes may be left.
pub(super) struct LeftRun {
    pub(super) claim: Claim,
    /// The job that does not begin before the nodes have told.
    pub(super) waiting: Option<u32>,
    /// The launch is on record, or a node has named the run.
    pub(super) was_launched: bool,
}

/// A run of which processes may be left.
struct AskedProcesses {
    run: LeftRun,
    /// The time from which on a node names the run.
    named_from: Seconds,
    /// The nodes that have not told yet.
    nodes: BTreeSet<String>,
    /// A node is down.
    is_unsure: bool,
    /// The nodes were told to end the run.
    is_to_end: bool,
}

impl NodeQuestions {
    pub(super) fn ask_for_script(&mut self, frontend: &Frontend, script: Script) {
        let Script { claim, job, host, launched } = script;
        let component = Component { claim, launched, is_ready: false };
        let known = self.scripts.extract_if(.., |asked| asked.job == job).next();
        let mut components = known.map_or_else(Vec::new, |asked| asked.components);
        components.push(component);
        // Slurm launches the script with the last component.
        let launches: Option<Vec<_>> = components.iter().map(|component| component.launched).collect();
        let named_from = match launches.and_then(|launches| launches.into_iter().max()) {
            Some(at) => Seconds(at.0.saturating_add(frontend.batch_start_timeout())),
            None => Seconds(frontend.outside().unix_time().0.saturating_add(UNRECORDED)),
        };
        self.scripts.push(AskedScript { job, host, named_from, components });
    }

    pub(super) fn ask_for_processes(&mut self, frontend: &Frontend, run: LeftRun) {
        let nodes = run.claim.nodes.iter().cloned().collect();
        let late = if run.was_launched { frontend.batch_start_timeout() } else { UNRECORDED };
        let named_from = Seconds(frontend.outside().unix_time().0.saturating_add(late));
        self.processes.push(AskedProcesses { run, named_from, nodes, is_unsure: false, is_to_end: false });
    }

    /// Whether nodes are asked for processes on this partition, of this run or of a later one that Slurm has forgotten.
    pub(super) fn is_about_processes_on(&self, partition: &PartitionId) -> bool {
        self.processes.iter().any(|asked| asked.run.claim.partition == *partition)
    }

    /// Keeps the launch of a run until it is known whether its script was launched, and returns the node that is asked.
    /// `None` if that is known.
    pub(super) fn hold_launch(&mut self, claim: &Claim) -> Option<&str> {
        let is_meant = |component: &&mut Component| component.claim.run == claim.run;
        self.scripts.iter_mut().find_map(|asked| {
            asked.components.iter_mut().find(is_meant)?.is_ready = true;
            Some(asked.host.as_str())
        })
    }

    /// The time of the next look.
    pub(super) fn next(&self) -> Option<Millis> {
        let is_open = !self.scripts.is_empty() || !self.processes.is_empty();
        is_open.then_some(self.next)
    }

    /// The times at which jobs may begin again, each once.
    pub(super) fn take_begins(&mut self) -> Vec<Seconds> {
        std::mem::take(&mut self.begins)
    }

    /// Asks the nodes if it is time. Returns the launches of runs that have ended while they waited: their gates are
    /// still raised.
    pub(super) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) -> Vec<HostTask> {
        let is_over = |component: &mut Component| !is_live(frontend, &component.claim);
        let components = self.scripts.iter_mut().map(|asked| &mut asked.components);
        let over: Vec<_> = components.flat_map(|all| all.extract_if(.., is_over)).collect();
        self.scripts.retain(|asked| !asked.components.is_empty());
        self.ask(frontend, slurm);
        over.into_iter().filter_map(Component::launch).collect()
    }

    fn ask(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        let now = frontend.now();
        if self.next().is_none_or(|next| next > now) {
            return;
        }
        let hosts = self.scripts.iter().map(|asked| &asked.host);
        let nodes: BTreeSet<&String> =
            hosts.chain(self.processes.iter().flat_map(|asked| &asked.nodes)).collect();
        self.counts_from.retain(|node, _| nodes.contains(node));
        let nodes = nodes.into_iter().filter(|node| !self.asked.contains_key(*node));
        let nodes: Vec<String> = nodes.cloned().collect();
        let down = slurm.ask_nodes(&nodes);
        self.next = after(now, BETWEEN_QUESTIONS);
        let at = frontend.outside().unix_time();
        for node in nodes {
            if down.contains(&node) {
                self.counts_from.remove(&node);
            } else {
                self.asked.insert(node, at);
            }
        }
        for asked in &mut self.processes {
            let before = asked.nodes.len();
            asked.nodes.retain(|node| !down.contains(node));
            asked.is_unsure |= asked.nodes.len() < before;
        }
        self.release(frontend, slurm);
    }

    /// Takes the jobs that run on nodes that were asked; `None` if a node has not answered. Returns the launches that have
    /// waited for that.
    pub(super) fn told(
        &mut self,
        frontend: &Frontend,
        slurm: &mut impl Slurm,
        told: BTreeMap<String, Option<Vec<u32>>>,
    ) -> Vec<HostTask> {
        let mut jobs = BTreeMap::new();
        let mut asked_at = Seconds(i64::MAX);
        for (node, running) in told {
            let Some(at) = self.asked.remove(&node) else { continue };
            asked_at = at;
            self.note_answer(frontend, &node, at, running.is_some());
            jobs.extend(running.map(|running| (node, running)));
        }
        let counts = |node: &String, named_from: Seconds| {
            let from = self.counts_from.get(node).copied().flatten();
            from.is_some_and(|from| asked_at >= from.max(named_from))
        };
        let mut to_end = Vec::new();
        for asked in &mut self.processes {
            let job = asked.run.claim.run.job;
            let still_runs = |node: &String| {
                jobs.get(node).is_some_and(|jobs| jobs.contains(&job)) && counts(node, asked.named_from)
            };
            if !asked.is_to_end && asked.nodes.iter().any(still_runs) {
                asked.is_to_end = true;
                to_end.push(asked.run.claim.clone());
            }
            asked.run.was_launched |= jobs.values().any(|jobs| jobs.contains(&job));
            let is_done = |node: &String| jobs.get(node).is_some_and(|jobs| !jobs.contains(&job));
            asked.nodes.retain(|node| !is_done(node) || !counts(node, asked.named_from));
        }
        let is_answered = |asked: &mut AskedScript| match jobs.get(&asked.host) {
            Some(jobs) => jobs.contains(&asked.job) || counts(&asked.host, asked.named_from),
            None => false,
        };
        let answered: Vec<_> = self.scripts.extract_if(.., is_answered).collect();
        end_on_nodes(frontend, slurm, &to_end);
        self.release(frontend, slurm);
        let mut launches = Vec::new();
        for asked in answered {
            let is_there = jobs.get(&asked.host).is_some_and(|jobs| jobs.contains(&asked.job));
            if is_there {
                asked.count_as_launched(frontend, asked_at);
            } else {
                asked.make_up_for_launch(frontend, slurm);
            }
            launches.extend(asked.components.into_iter().filter_map(Component::launch));
        }
        launches
    }

    /// Notes from when on the answers of a node count. One that hung first has as long to begin a script as Slurm gives
    /// it.
    fn note_answer(&mut self, frontend: &Frontend, node: &str, asked_at: Seconds, has_answered: bool) {
        let now = frontend.outside().unix_time().0;
        let is_prompt = now.saturating_sub(asked_at.0) <= PROMPT;
        let from = match self.counts_from.get(node) {
            Some(Some(_)) => return,
            _ if !has_answered => None,
            None if is_prompt => Some(asked_at),
            _ => Some(Seconds(now.saturating_add(frontend.batch_start_timeout()))),
        };
        self.counts_from.insert(node.to_owned(), from);
    }

    /// Releases the partitions of runs of which no node has processes any more. Their jobs may begin again.
    fn release(&mut self, frontend: &Frontend, slurm: &mut impl Slurm) {
        if self.processes.iter().all(|asked| !asked.nodes.is_empty()) {
            return;
        }
        let mut locked = slurm.write();
        if frontend.is_closed() {
            return;
        }
        let mut over = Vec::new();
        for asked in self.processes.extract_if(.., |asked| asked.nodes.is_empty()) {
            let LeftRun { claim, waiting, was_launched } = &asked.run;
            if let Some(job) = *waiting {
                if *was_launched {
                    // The next slurmctld may not know the number of restarts.
                    lost_runs::note(frontend, claim, EndedBy::Requeue);
                }
                let run = JobRun { job, ..claim.run };
                self.begins.extend(lost_runs::begin_as_restart(&mut locked, run, None, *was_launched));
            }
            let same_id = locked.job(claim.run.job).filter(|job| *was_launched && job.is_pending());
            let begin = same_id.map(|mut job| {
                job.begin_soon(PAUSE_AFTER_LAUNCH);
                Seconds(job.begin_time())
            });
            if let Some(begin) = begin {
                self.begins.push(begin);
                locked.end_on_nodes(claim.run.job, &claim.nodes);
            }
            over.push(asked);
        }
        drop(locked);
        for AskedProcesses { run: LeftRun { claim, waiting, .. }, is_unsure, .. } in over {
            let is_down = if is_unsure { ", as far as nodes answer" } else { "" };
            info!("{}: no process of it is left{is_down}; partition {} goes", claim.run, claim.partition);
            waiting.and_then(|job| lock(&frontend.before.left_runs).remove(&job));
            frontend.tell(match is_unsure {
                true => Event::NodesUnknown(claim.partition),
                false => Event::NodesDone(claim.partition),
            });
        }
    }
}

impl AskedScript {
    /// The node runs the script: no component is launched again.
    fn count_as_launched(&self, frontend: &Frontend, asked_at: Seconds) {
        for Component { claim, launched, .. } in &self.components {
            if !is_running(frontend, claim) {
                frontend.note_launched_before(claim, launched.unwrap_or(asked_at));
            }
        }
    }

    /// The script never reached its node. Slurm launches it with the last component that gets its partition, or now.
    fn make_up_for_launch(&self, frontend: &Frontend, slurm: &mut impl Slurm) {
        let Self { job, host, components, .. } = self;
        if components.iter().any(|component| !is_running(frontend, &component.claim)) {
            return info!("job {job}: node {host} does not run it; it is launched");
        }
        let mut slurm = slurm.write();
        let mut is_same = |Component { claim, .. }: &Component| {
            slurm.job(claim.run.job).is_some_and(|job| {
                job.is_running()
                    && job.restart_count() == claim.run.restart
                    && job.start_time() == claim.run.start
            })
        };
        if frontend.is_closed() || !components.iter().all(&mut is_same) {
            return;
        }
        warn!(
            "job {job}: node {host} does not run it: the end of slurmctld has cut off its launch; it is launched now"
        );
        // Slurm launches the script of a heterogeneous job with any of its components.
        if let Some(Component { claim, .. }) = components.first() {
            slurm.launch_again(claim.run.job);
        }
        for Component { claim, .. } in components {
            frontend.outside().note_launched(claim.clone(), frontend.outside().unix_time());
        }
    }
}

impl Component {
    /// The launch that has waited for the answer.
    fn launch(self) -> Option<HostTask> {
        self.is_ready.then_some(HostTask::Act(HostAction::OpenLaunch(self.claim)))
    }
}

/// Whether a run has been launched, and has not ended.
fn is_running(frontend: &Frontend, claim: &Claim) -> bool {
    frontend.ledger().awaits(claim) == Some(Awaits::JobEnd)
}

/// Whether a run has not ended.
fn is_live(frontend: &Frontend, claim: &Claim) -> bool {
    frontend.ledger().live_claim(claim.run.job).is_some_and(|live| live.run == claim.run)
}

/// Ends runs of which Slurm has the jobs in line. A node that was in the Prolog of a job when it registered has not told
/// Slurm of it, and may not register again for half an hour.
fn end_on_nodes(frontend: &Frontend, slurm: &mut impl Slurm, runs: &[Claim]) {
    if runs.is_empty() {
        return;
    }
    let mut slurm = slurm.write();
    if frontend.is_closed() {
        return;
    }
    for claim in runs {
        if slurm.job(claim.run.job).is_some_and(|job| job.is_pending()) {
            info!("{}: a node still runs it, and Slurm has it in line; it is ended there", claim.run);
            slurm.end_on_nodes(claim.run.job, &claim.nodes);
        }
    }
}
