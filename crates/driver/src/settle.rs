//! The end of a create that no job waits for: the files become durable, and the journal says so.

use std::rc::Rc;

use ledger::Claim;
use tokio::task::spawn_local;

use crate::refresh;
use crate::shared_state::SharedState;
use crate::tracked::Tracked;
use crate::{Entry, Environment, Files};

/// Makes the files of a partition durable, which may take as long as the disk needs, and records that. Without
/// the entry, the next slurmctld writes the files of a running job anew.
///
/// Takes no turn: other entries about the partition do not wait for a disk.
pub(crate) fn settle<W: Environment>(shared: &Rc<SharedState<W>>, tracked: &Rc<Tracked>, claim: &Claim) {
    let (shared, tracked, claim) = (Rc::clone(shared), Rc::clone(tracked), claim.clone());
    let number = tracked.present_use.get();
    spawn_local(async move {
        if flushed(&shared, &tracked, &claim, number).await {
            on_record(&shared, &tracked, &claim, number).await;
        }
    });
}

/// Records that the partition is up and its files are durable.
pub(crate) async fn on_record<W: Environment>(
    shared: &SharedState<W>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) {
    // A later slurmctld does not watch for late effects on a partition with this entry. An unanswered call needs
    // that watch.
    if tracked.is_used_for(number) && !tracked.calls.may_come_late() {
        shared.note(Entry::Created(claim.partition.clone()), claim).await;
    }
}

/// Makes the files durable. Files that a disk has lost are written anew. Returns false if the partition is
/// another run's by now, or is being removed.
async fn flushed<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) -> bool {
    let flush = async || {
        let Some(directory) = tracked.directory.borrow().clone() else { return Ok(()) };
        let _alone = tracked.files.lock().await;
        if !tracked.is_used_for(number) || tracked.fileless.get() {
            return Ok(());
        }
        let files = shared.environment.files().flush(&directory, claim);
        shared.with_files(&directory, files).await.map_err(|trouble| trouble.words)
    };
    let Err(trouble) = flush().await else { return tracked.is_used_for(number) };
    let (run, partition) = (claim.run, &claim.partition);
    tracing::warn!("{run}: the IPUoF files of {partition} may be lost, and are written anew: {trouble}");
    refresh::insist(shared, tracked, claim, number).await
}
