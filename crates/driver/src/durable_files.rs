//! The files of a partition that is up: made durable, recorded, and written anew if they may be lost or a controller moved
//! the partition to other IPUs.

use std::rc::Rc;

use ledger::{Claim, Stale};
use tokio::task::spawn_local;
use tokio::time::sleep;
use vipu_types::Words;

use crate::pauses::{Backoff, RETRY_CAP};
use crate::shared_state::SharedState;
use crate::tracked::Tracked;
use crate::{Controller, Entry, Environment, Files};

/// Makes the files of a partition durable, which may take as long as the disk needs, and records that. Without
/// the entry, the next slurmctld writes the files of a running job anew.
///
/// Takes no turn: other entries about the partition do not wait for a disk.
pub(crate) fn make_durable<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Rc<Tracked>,
    claim: &Claim,
) {
    let (shared, tracked, claim) = (Rc::clone(shared), Rc::clone(tracked), claim.clone());
    let number = tracked.present_use.get();
    spawn_local(async move {
        if flushed(&shared, &tracked, &claim, number).await {
            on_record(&shared, &tracked, &claim, number).await;
        }
    });
}

/// Records that the partition is up and its files are durable.
async fn on_record<W: Environment>(shared: &SharedState<W>, tracked: &Tracked, claim: &Claim, number: u32) {
    // A later slurmctld does not watch for late effects on a partition with this entry. An unanswered call needs
    // that watch.
    if tracked.is_used_for(number) && !tracked.calls.may_come_late() {
        shared.resources.note(Entry::Created(claim.partition.clone()), claim).await;
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
        shared.resources.with_files(&directory, files).await.map_err(|trouble| trouble.words)
    };
    let Err(trouble) = flush().await else { return tracked.is_used_for(number) };
    let (run, partition) = (claim.run, &claim.partition);
    tracing::warn!("{run}: the IPUoF files of {partition} may be lost, and are written anew: {trouble}");
    written_anew(shared, tracked, claim, number).await
}

/// Writes the files of a running job's partition anew.
pub(crate) async fn refresh<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    why: Stale,
) {
    // A create or a bind that is under way begins a use of its own.
    let number = {
        let _turn = tracked.turn.lock().await;
        tracked.present_use.get()
    };
    if written_anew(&shared, &tracked, &claim, number).await {
        let (run, partition) = (claim.run, &claim.partition);
        let words = match why {
            Stale::Moved => "it was moved to other IPUs",
            Stale::MayBeLost => "an earlier slurmctld ended before they were durable",
        };
        tracing::info!("{run}: the IPUoF files of partition {partition} are written anew: {words}");
        if why == Stale::MayBeLost {
            on_record(&shared, &tracked, &claim, number).await;
        }
    }
}

/// Writes the files anew and makes them durable, as often as it takes. Returns false if this use of the partition
/// ends before.
async fn written_anew<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) -> bool {
    let mut backoff = Backoff::new(claim.partition.as_str(), RETRY_CAP);
    while tracked.is_used_for(number) {
        let Err(trouble) = rewritten(shared, tracked, claim, number).await else {
            return tracked.is_used_for(number);
        };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            let (run, partition, tries) = (claim.run, &claim.partition, backoff.tries());
            tracing::warn!(
                "{run}: the IPUoF files of partition {partition} are old or lost, try {tries}: {trouble}; trying again"
            );
        }
        sleep(pause).await;
    }
    false
}

async fn rewritten<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) -> Result<(), Words> {
    let pod = shared.pod(claim)?;
    let Some(directory) = tracked.directory.borrow().clone().or_else(|| pod.settings.ipuof_dir.clone())
    else {
        return Ok(());
    };
    let partition = pod.on_controller(tracked, &claim.partition);
    let config = pod.controller.ipuof_config(partition).await.map_err(|error| error.message)?;
    tracked.calls.seen();
    // Another slurmctld may have given the partition to another job. Then the files are none of ours.
    shared.resources.in_charge(claim).await;
    let _alone = tracked.files.lock().await;
    if !tracked.is_used_for(number) {
        return Ok(());
    }
    let files = shared.environment.files();
    let durable = async {
        files.deliver(&directory, claim, config).await?;
        files.flush(&directory, claim).await
    };
    shared.resources.with_files(&directory, durable).await.map_err(|trouble| trouble.words)
}
