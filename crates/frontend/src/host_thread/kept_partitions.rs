//! Watches partitions of failed jobs that stay for a while (`--ipu-keep`), until their time is over.

use std::time::Duration;

use ledger::{Claim, Event, Seconds};
use tracing::info;

use super::watch_list::WatchList;
use crate::frontend::Frontend;
use crate::slurm::{Job, Slurm};

/// The time between two looks at a kept partition.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// Removes partitions whose time is over, and those of jobs that were requeued.
pub(super) fn look(list: &mut WatchList<(Claim, Seconds)>, frontend: &Frontend, slurm: &mut impl Slurm) {
    let mut due = list.due(frontend.now(), |_| POLL);
    list.retain(|(claim, _)| frontend.ledger().is_kept(claim));
    due.retain(|(claim, _)| frontend.ledger().is_kept(claim));
    if due.is_empty() {
        return;
    }
    let jobs: Vec<u32> = due.iter().map(|(claim, _)| claim.run.job).collect();
    let ended = slurm.look_at(&jobs, |job| job.has_ended());
    let now = frontend.outside().unix_time();
    for ((claim, until), has_ended) in due.into_iter().zip(ended) {
        // Slurm forgets a job that ended long ago.
        let why = match has_ended.unwrap_or(true) {
            false => "its job was requeued",
            true if until <= now => "its time is over (--ipu-keep)",
            true => continue,
        };
        info!("{}: partition {}, which was kept, is removed: {why}", claim.run, claim.partition);
        frontend.tell(Event::KeepOver(claim.partition));
    }
}
