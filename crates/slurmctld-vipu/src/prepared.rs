//! Partitions that are made while their jobs wait: who looks whether the jobs still do.

use std::time::Duration;

use ledger::{Claim, Event};
use slurm_host::locks::HostThread;
use tracing::info;

use crate::plugin::Plugin;
use crate::preparing;

/// How often that is looked at.
const POLL: Duration = Duration::from_millis(250);

/// All of them.
#[derive(Default)]
pub(crate) struct Prepared(Vec<Claim>);

impl Prepared {
    /// Looks at this one, too.
    pub(crate) fn watch(&mut self, claim: Claim) {
        self.0.push(claim);
    }

    /// How long until the next look.
    pub(crate) fn pause(&self) -> Duration {
        if self.0.is_empty() { Duration::MAX } else { POLL }
    }

    /// Gives up what nobody waits for, or waits for in vain.
    pub(crate) fn look(&mut self, plugin: &Plugin, slurm: &mut HostThread) {
        let is_open = |claim: &Claim| {
            plugin.ledger().preparation(claim.run.job).is_some_and(|it| it.claim.partition == claim.partition)
        };
        self.0.retain(is_open);
        if self.0.is_empty() {
            return;
        }
        let claims = &self.0;
        let waiting: Vec<_> =
            slurm.read_waiting(|seen| claims.iter().map(|claim| seen(claim.run.job)).collect());
        for (claim, waiting) in claims.iter().zip(waiting) {
            let (why, in_vain) = match waiting {
                Some(waiting) if !preparing::is_wanted(plugin, claim, &waiting) => {
                    ("it asks for something else", false)
                }
                Some(_) if is_late(plugin, claim) => ("it has not started in time (PrepareWait)", true),
                Some(_) => continue,
                None => ("it does not wait any more", false),
            };
            if is_open(claim) {
                info!("{}: partition {}, which was prepared, is removed: {why}", claim.run, claim.partition);
                plugin.tell(Event::Forgo { job: claim.run.job, in_vain });
            }
        }
    }
}

/// Whether the partition has waited for long enough.
fn is_late(plugin: &Plugin, claim: &Claim) -> bool {
    let patience = plugin.models(|models| models.prepare_wait(&claim.model));
    let ready = plugin.ledger().preparation(claim.run.job).and_then(|it| it.ready);
    let waited = |since: ledger::Millis| Duration::from_millis(plugin.now().0.saturating_sub(since.0));
    ready.is_some_and(|since| waited(since) >= patience)
}
