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
    let unended = slurm.look_at(&jobs, |job| job.run_end().is_none().then(|| job.restart_count()));
    let now = frontend.outside().unix_time();
    for ((claim, until), restarts) in due.into_iter().zip(unended) {
        // Slurm forgets a job that ended long ago. It also forgets a run on a partition of a pool that it has not saved.
        let is_pool = frontend.ledger().is_pool(&claim.model);
        let is_later = |restarts: u16| restarts > claim.run.restart || !is_pool;
        let why = match restarts.flatten().is_some_and(is_later) {
            true => "its job was requeued",
            false if until <= now => "its time is over",
            false => continue,
        };
        info!("{}: partition {} is kept no longer: {why}", claim.run, claim.partition);
        frontend.tell(Event::KeepOver(claim.partition));
    }
}
