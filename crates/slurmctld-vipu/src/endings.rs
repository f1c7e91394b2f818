//! Jobs that have ended: whose nodes are not done yet, and for whose end Slurm waits.

use std::time::{Duration, Instant};

use ledger::{Awaits, Claim, Event};
use slurm_host::locks::HostThread;
use tracing::warn;

use crate::phase;
use crate::plugin::Plugin;

/// How often ended jobs are asked whether their nodes are done: most are within a second.
const NODES_POLL: Duration = Duration::from_millis(25);

/// The same for jobs whose nodes take long.
const NODES_POLL_LATER: Duration = Duration::from_millis(250);

/// After which a job shows that it waits for the removal of its partition: most removals are done before.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// All that the vipu-host thread waits for.
#[derive(Default)]
pub(crate) struct Endings {
    /// Jobs whose nodes may not be done with them.
    on_nodes: Vec<Ended>,
    /// Jobs that are COMPLETING until their partition is gone, but no longer than RemoveWait.
    held: Vec<Ended>,
}

/// A job that has ended.
struct Ended {
    claim: Claim,
    since: Instant,
    patience: Duration,
    /// Nothing more is to be shown of what it waits for.
    shown: bool,
}

impl Ended {
    fn new(plugin: &Plugin, claim: Claim) -> Self {
        let patience = plugin.models(|models| models.remove_wait(&claim.model));
        Self { claim, since: Instant::now(), patience, shown: false }
    }

    fn is_late(&self) -> bool {
        self.since.elapsed() >= self.patience
    }

    /// Until something about it is to be looked at.
    fn pause(&self) -> Duration {
        let age = self.since.elapsed();
        let end = self.patience.saturating_sub(age);
        if self.shown { end } else { end.min(SHOWN_AFTER.saturating_sub(age).max(NODES_POLL_LATER)) }
    }
}

impl Endings {
    /// Waits for the job's nodes.
    pub(crate) fn await_nodes(&mut self, plugin: &Plugin, claim: Claim) {
        self.on_nodes.push(Ended::new(plugin, claim));
    }

    /// Slurm waits for the end of this run; not for ever.
    pub(crate) fn limit(&mut self, plugin: &Plugin, claim: Claim) {
        self.held.push(Ended::new(plugin, claim));
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        let poll = match self.on_nodes.iter().map(|ended| ended.since.elapsed()).min() {
            Some(age) if age < Duration::from_secs(1) => NODES_POLL,
            Some(_) => NODES_POLL_LATER,
            None => Duration::MAX,
        };
        let limits = self.held.iter().map(Ended::pause);
        limits.chain([poll]).min().unwrap_or(poll)
    }

    /// Tells of the jobs whose nodes are done, and of those that were waited for long enough.
    pub(crate) fn look(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        self.ask_nodes(plugin, slurm);
        self.show(plugin, slurm);
        for ended in self.held.extract_if(.., |ended| ended.is_late()) {
            let Ended { claim, patience, .. } = ended;
            if plugin.ledger().completion_raised(&claim) {
                warn!(
                    "{}: partition {} is still there {} s after its end: the job is COMPLETING no longer, the IPUs \
                     count as used until it is removed",
                    claim.run,
                    claim.partition,
                    patience.as_secs()
                );
                plugin.tell(Event::Overdue(claim.partition));
            }
        }
    }

    /// Shows what those wait for whose removal takes a while.
    fn show(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        let mut waiting = Vec::new();
        let is_due = |ended: &&mut Ended| !ended.shown && ended.since.elapsed() >= SHOWN_AFTER;
        for ended in self.held.iter_mut().filter(is_due) {
            let awaits = plugin.ledger().awaits(&ended.claim);
            ended.shown = awaits != Some(Awaits::Nodes);
            if awaits == Some(Awaits::Removal) {
                waiting.push(&ended.claim);
            }
        }
        if waiting.is_empty() {
            return;
        }
        let mut slurm = slurm.write();
        for claim in waiting {
            if let Some(mut job) = slurm.job(claim.run.job) {
                phase::show_removing(&mut job, claim);
            }
        }
    }

    fn ask_nodes(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        if self.on_nodes.is_empty() {
            return;
        }
        // Whatever happens on the way, nobody who waits is lost.
        let waiting = &self.on_nodes;
        let done: Vec<bool> = slurm.read(|seen| {
            let is_done =
                |ended: &Ended| ended.is_late() || seen(ended.claim.run.job).is_none_or(|job| job.nodes_done);
            waiting.iter().map(is_done).collect()
        });
        let mut done = done.into_iter();
        for ended in self.on_nodes.extract_if(.., |_| done.next().unwrap_or(false)) {
            plugin.tell(Event::NodesDone(ended.claim.partition));
        }
    }
}
