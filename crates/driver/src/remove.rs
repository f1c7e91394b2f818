//! Removing a partition: journal, call, poll, files, journal. Never given up.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::Claim;
use tokio::time::{Instant, sleep, sleep_until};
use vipu_types::PartitionId;

use crate::lane::{Lane, Owner};
use crate::pace::{Backoff, poll_pause};
use crate::pod::Pod;
use crate::shop::Shop;
use crate::{Controller, Entry, Files, PartitionState, World};

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(30);

/// How long an accepted remove may take before it is asked for again.
const REMOVE_TIME: Duration = Duration::from_secs(60);

/// Removes the partition of `claim` and its files; returns when both are gone. What is not ours stays.
pub(crate) async fn remove<W: World>(shop: &Shop<W>, lane: &Lane, claim: &Claim) {
    let began = Instant::now();
    let partition = &claim.partition;
    if lane.owner.get() == Owner::Others {
        return;
    }
    shop.note(Entry::Remove { claim: claim.clone() }, claim).await;
    let mut pod = insist(claim, async || removed(shop, claim).await).await;
    if lane.settled.get() > Instant::now() {
        sleep_until(lane.settled.get()).await;
        pod = insist(claim, async || removed(shop, claim).await).await;
    }
    files_gone(shop, lane, claim, &pod.settings.ipuof_dir).await;
    shop.note(Entry::Gone(partition.clone()), claim).await;
    tracing::info!("{}: partition {partition} removed in {:.3} s", claim.run, began.elapsed().as_secs_f64());
}

/// Repeats `attempt` until it succeeds, and says ever more rarely that it has not.
async fn insist<T>(claim: &Claim, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut backoff = Backoff::new(claim.partition.as_str(), RETRY_CAP);
    loop {
        let trouble = match attempt().await {
            Ok(done) => return done,
            Err(trouble) => trouble,
        };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            let (run, partition, tries) = (claim.run, &claim.partition, backoff.tries());
            tracing::warn!("{run}: partition {partition} not removed, try {tries}: {trouble}; trying again");
        }
        sleep(pause).await;
    }
}

/// Deletes the files, after any write that is still under way.
async fn files_gone<W: World>(shop: &Shop<W>, lane: &Lane, claim: &Claim, configured: &Arc<Path>) {
    let _alone = lane.files.lock().await;
    if lane.fileless.get() {
        return;
    }
    let directory = lane.directory.borrow().clone().unwrap_or_else(|| Arc::clone(configured));
    insist(claim, async || {
        let withdrawn = shop.world.files().withdraw(&directory, claim).await;
        withdrawn.map_err(|error| error.to_string())
    })
    .await;
}

/// One try, with the settings that hold now.
async fn removed<W: World>(shop: &Shop<W>, claim: &Claim) -> Result<Rc<Pod<W::Controller>>, String> {
    let pod = shop.pod(claim)?;
    let force = pod.settings.force_remove;
    pod.controller.remove(&claim.partition, force).await.map_err(|error| error.message)?;
    confirm_gone(&pod.controller, &claim.partition, force).await?;
    Ok(pod)
}

/// Waits until a partition that is being removed is gone.
///
/// # Errors
/// When it stays, with what to tell people.
pub(crate) async fn confirm_gone(
    controller: &impl Controller,
    partition: &PartitionId,
    force: bool,
) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match controller.status(partition).await.map_err(|error| error.message)? {
            PartitionState::Absent => return Ok(()),
            PartitionState::Failed(words) => {
                let advice = if force { "" } else { "; ForceDeletePartition=1 would ignore that" };
                return Err(format!("controller {}: removing it failed: {words}{advice}", controller.name()));
            }
            _ if began.elapsed() >= REMOVE_TIME => {
                let seconds = REMOVE_TIME.as_secs();
                return Err(format!("controller {}: still there after {seconds} s", controller.name()));
            }
            _ => sleep(poll_pause(began.elapsed(), None)).await,
        }
    }
}
