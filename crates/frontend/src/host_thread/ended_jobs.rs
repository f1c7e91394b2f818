//! Jobs that have ended. Their nodes may still be busy, and Slurm waits for the end of their partition.

use std::collections::HashSet;
use std::time::Duration;

use ledger::{Awaits, Claim, Event, Millis};
use tracing::warn;

use super::node_questions::NodeQuestions;
use super::watch_list::{WatchList, after, since};
use crate::frontend::Frontend;
use crate::show_partition;
use crate::slurm::{Job, Locked, Slurm};

/// The time between two looks at the nodes of an ended job. Most are done within a second.
const NODES_POLL: Duration = Duration::from_millis(25);

/// The time between two looks at a job whose nodes take longer than a second.
const NODES_POLL_LATER: Duration = Duration::from_millis(250);

/// The time after which a job shows that it waits for the removal of its partition. Most removals are done
/// before.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// All ended jobs that this thread looks at.
#[derive(Default)]
pub(super) struct EndedJobs {
    /// Jobs whose nodes may not be done with them.
    on_nodes: WatchList<Ended>,
    /// Jobs that are COMPLETING until their partition is gone, but no longer than RemoveWait.
    held: WatchList<Ended>,
    /// Jobs that do not show yet that they wait for the removal of their partition.
    unshown: WatchList<Claim>,
}

/// The nodes of an ended job.
#[derive(Clone, Copy)]
enum Nodes {
    /// Processes of the job may run on them.
    Busy,
    /// No process of the job runs on them.
    Done,
    /// Slurm waits for them no longer. A node may have failed, with processes of the job.
    Unknown,
}

/// A job that has ended.
#[derive(Clone)]
struct Ended {
    claim: Claim,
    since: Millis,
    patience: Duration,
}

impl Ended {
    fn new(frontend: &Frontend, claim: Claim) -> Self {
        let patience = frontend.models().remove_wait(&claim.model);
        Self { claim, since: frontend.now(), patience }
    }

    fn is_late(&self, now: Millis) -> bool {
        since(self.since, now) >= self.patience
    }

    fn nodes_pause(&self, now: Millis) -> Duration {
        if since(self.since, now) < Duration::from_secs(1) { NODES_POLL } else { NODES_POLL_LATER }
    }
}

impl EndedJobs {
    /// Waits for the job's nodes.
    pub(super) fn await_nodes(&mut self, frontend: &Frontend, claim: Claim) {
        let ended = Ended::new(frontend, claim);
        self.on_nodes.watch(ended.since, ended);
    }

    /// Bounds the time for which Slurm waits for the end of this run.
    pub(super) fn limit(&mut self, frontend: &Frontend, claim: Claim) {
        let ended = Ended::new(frontend, claim.clone());
        self.unshown.watch(after(ended.since, SHOWN_AFTER), claim);
        self.held.watch(after(ended.since, ended.patience), ended);
    }

    /// The time of the next look.
    pub(super) fn next(&self) -> Option<Millis> {
        [self.on_nodes.next(), self.held.next(), self.unshown.next()].into_iter().flatten().min()
    }

    /// Tells the ledger of jobs whose nodes are done, and of jobs for which Slurm has waited for RemoveWait.
    pub(super) fn look(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, questions: &NodeQuestions) {
        let now = frontend.now();
        self.look_at_nodes(frontend, slurm, questions, now);
        self.show_removals(frontend, slurm, now);
        for Ended { claim, patience, .. } in self.held.due(now, |ended| ended.patience) {
            if frontend.ledger().completion_raised(&claim) {
                warn!(
                    "{}: partition {} is still there {} s after its end: slurm-vipu does not keep the job COMPLETING any \
                     longer, the IPUs count as used until it is removed",
                    claim.run,
                    claim.partition,
                    patience.as_secs()
                );
                frontend.tell(Event::Overdue(claim.partition));
            }
        }
        self.held.retain(|ended| !ended.is_late(now));
    }

    /// Shows a removal that takes a while as the reason of its job.
    fn show_removals(&mut self, frontend: &Frontend, slurm: &mut impl Slurm, now: Millis) {
        let due = self.unshown.due(now, |_| NODES_POLL_LATER);
        if due.is_empty() {
            return;
        }
        let awaits = |claim: &Claim| frontend.ledger().awaits(claim);
        let on_nodes = |claim: &Claim| matches!(awaits(claim), Some(Awaits::Nodes | Awaits::Idle));
        let looked_at: HashSet<_> =
            due.iter().filter(|claim| !on_nodes(claim)).map(|claim| &claim.partition).collect();
        self.unshown.retain(|claim| !looked_at.contains(&claim.partition));
        let removed: Vec<_> = due.iter().filter(|claim| awaits(claim) == Some(Awaits::Removal)).collect();
        if removed.is_empty() {
            return;
        }
        let mut slurm = slurm.write();
        if frontend.is_closed() {
            return;
        }
        for claim in removed {
            if let Some(mut job) = slurm.job(claim.run.job) {
                show_partition::show_removing(&mut job);
            }
        }
    }

    fn look_at_nodes(
        &mut self,
        frontend: &Frontend,
        slurm: &mut impl Slurm,
        questions: &NodeQuestions,
        now: Millis,
    ) {
        let mut due = self.on_nodes.due(now, |ended| ended.nodes_pause(now));
        // The journal may know of a later run on the partition of a job that has ended.
        let is_known = frontend.has_read_journal();
        due.retain(|ended| is_known && !questions.is_about_processes_on(&ended.claim.partition));
        if due.is_empty() {
            return;
        }
        let jobs: Vec<u32> = due.iter().map(|ended| ended.claim.run.job).collect();
        let nodes = slurm.look_at(&jobs, |job| match () {
            () if !job.is_completing() => Nodes::Unknown,
            () if !job.nodes_done() => Nodes::Busy,
            () if job.run_end().is_some() && !job.has_lost_node() => Nodes::Done,
            () => Nodes::Unknown,
        });
        let run_on = |claim: &Claim| (claim.run.job, claim.partition.clone());
        let mut done = HashSet::new();
        for (ended, nodes) in due.into_iter().zip(nodes) {
            let partition = ended.claim.partition.clone();
            if frontend.ledger().awaits(&ended.claim) != Some(Awaits::Nodes) {
                // Another job may have the partition by now.
                done.insert(run_on(&ended.claim));
                continue;
            }
            frontend.tell(match nodes.unwrap_or(Nodes::Unknown) {
                Nodes::Done => Event::NodesDone(partition),
                Nodes::Busy if !ended.is_late(now) => continue,
                Nodes::Busy | Nodes::Unknown => Event::NodesUnknown(partition),
            });
            done.insert(run_on(&ended.claim));
        }
        self.on_nodes.retain(|ended| !done.contains(&run_on(&ended.claim)));
    }
}
