//! Removing a partition: journal, call, poll, files, journal. Never given up.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::Claim;
use tokio::time::{Instant, sleep};
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

/// How soon, when it does not even look as if it were on its way out: a late create may have made it once more.
const STILL_ACTIVE: Duration = Duration::from_secs(2);

/// How long a partition that is gone is watched for, when a create call of it was never answered. A controller that
/// hung may work off what it was sent long ago; what it makes after this is reported as unknown.
const LATE_CREATE: Duration = Duration::from_secs(600);

/// Removes the partition of `claim` and its files, when it is its turn; returns when both are gone. What is not ours stays.
pub(crate) async fn remove<W: World>(shop: Rc<Shop<W>>, lane: Rc<Lane>, claim: Claim) {
    let _turn = lane.turn.lock().await;
    let began = Instant::now();
    let (shop, lane, claim) = (&shop, &lane, &claim);
    let (run, partition) = (claim.run, &claim.partition);
    match lane.owner.get() {
        Owner::Run(_) | Owner::Late(_) => {}
        Owner::Others => return,
        Owner::Unknown => {
            tracing::warn!("{run}: partition {partition} is in no journal of this cluster and left alone");
            return;
        }
    }
    shop.note(Entry::Remove { claim: claim.clone() }, claim).await;
    let pod = insist(claim, async || {
        let pod = shop.pod(&lane.at_home(claim))?;
        removed(&pod, partition).await.map(|()| pod)
    })
    .await;
    files_gone(shop, lane, claim, pod.settings.ipuof_dir.clone()).await;
    failpoints::hold!("cleared");
    if lane.may_come_late() {
        lane.owner.set(Owner::Late(run));
    } else {
        shop.note(Entry::Gone(partition.clone()), claim).await;
        lane.forget();
    }
    tracing::info!("{run}: partition {partition} removed in {:.3} s", began.elapsed().as_secs_f64());
}

/// Waits until nothing that was sent for a partition that is gone can make it once more.
pub(crate) async fn watch<W: World>(shop: &Shop<W>, lane: Rc<Lane>, claim: &Claim) {
    let late = Owner::Late(claim.run);
    if lane.owner.get() == late {
        sleep(LATE_CREATE).await;
        while shop.is_seen_to(&claim.partition) {
            sleep(RETRY_CAP).await;
        }
        let _turn = lane.turn.lock().await;
        if lane.owner.get() != late {
            return; // The id has another run, which sees to it.
        }
        shop.note(Entry::Gone(claim.partition.clone()), claim).await;
        lane.forget();
    }
    shop.close(&claim.partition, lane);
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
async fn files_gone<W: World>(shop: &Shop<W>, lane: &Lane, claim: &Claim, configured: Option<Arc<Path>>) {
    let _alone = lane.files.lock().await;
    if lane.fileless.get() {
        return;
    }
    let Some(directory) = lane.directory.borrow().clone().or(configured) else { return };
    insist(claim, async || {
        let withdrawn = shop.world.files().withdraw(&directory, claim).await;
        withdrawn.map_err(|error| error.to_string())
    })
    .await;
}

/// One try, with the settings that hold now.
///
/// # Errors
/// When it stays, with what to tell people.
pub(crate) async fn removed<C: Controller>(pod: &Pod<C>, partition: &PartitionId) -> Result<(), String> {
    let force = pod.settings.force_remove;
    pod.controller.remove(partition, force).await.map_err(|error| error.message)?;
    failpoints::hold!("remove_acknowledged");
    confirm_gone(&pod.controller, partition, force).await
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
            PartitionState::Active if began.elapsed() >= STILL_ACTIVE => {
                return Err(format!("controller {}: it is still active", controller.name()));
            }
            _ if began.elapsed() >= REMOVE_TIME => {
                let seconds = REMOVE_TIME.as_secs();
                return Err(format!("controller {}: still there after {seconds} s", controller.name()));
            }
            _ => sleep(poll_pause(began.elapsed(), None)).await,
        }
    }
}
