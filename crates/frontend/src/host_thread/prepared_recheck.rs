//! Watches partitions that are made while their jobs wait, until the job has begun or does not wait any more.

use std::time::Duration;

use ledger::{Claim, Event, Ledger, Millis};
use tracing::info;

use super::watch_list::{WatchList, since};
use crate::frontend::Frontend;
use crate::preparing;
use crate::request::WaitingJob;
use crate::slurm::Slurm;

/// The time between two looks at a prepared partition.
pub(super) const POLL: Duration = Duration::from_millis(250);

/// Gives up partitions that no job waits for, and partitions that wait for their job in vain.
pub(super) fn look(list: &mut WatchList<Claim>, frontend: &Frontend, slurm: &mut impl Slurm) {
    let mut due = list.due(frontend.now(), |_| POLL);
    let is_open = |claim: &Claim| is_open(&frontend.ledger(), claim);
    list.retain(is_open);
    due.retain(is_open);
    if due.is_empty() {
        return;
    }
    let jobs: Vec<u32> = due.iter().map(|claim| claim.run.job).collect();
    let waiting = slurm.look_at(&jobs, |job| WaitingJob::of(job));
    for (claim, waiting) in due.into_iter().zip(waiting) {
        let (why, in_vain) = match waiting.flatten() {
            Some(waiting) if !preparing::is_wanted(frontend, &waiting, &claim) => {
                ("it asks for something else", false)
            }
            Some(_) if is_late(frontend, &claim) => ("it has not started in time (PrepareWait)", true),
            Some(_) => continue,
            None => ("it does not wait any more", false),
        };
        if is_open(&claim) {
            info!("{}: partition {} is prepared no longer: {why}", claim.run, claim.partition);
            frontend.tell(Event::Forgo { job: claim.run.job, in_vain });
        }
    }
}

fn is_open(ledger: &Ledger, claim: &Claim) -> bool {
    let preparation = ledger.preparation(claim.run.job);
    preparation.is_some_and(|it| it.claim.partition == claim.partition)
}

/// Whether the partition has waited for PrepareWait.
fn is_late(frontend: &Frontend, claim: &Claim) -> bool {
    let patience = frontend.models().prepare_wait(&claim.model);
    let ready: Option<Millis> = frontend.ledger().preparation(claim.run.job).and_then(|it| it.ready);
    ready.is_some_and(|ready| since(ready, frontend.now()) >= patience)
}
