//! Partitions that are named like ours and have no job.
//!
//! Two clusters may share a controller and a prefix. The driver therefore removes only partitions that this
//! cluster's journal has, for example one that was made after its create was given up. All others are left
//! alone and reported, unless the site says that no other cluster makes partitions there (RemoveUnknown).

use std::rc::Rc;

use ledger::{Event, SeenPartition};
use tokio::time::sleep;
use tracing::{info, warn};
use vipu_types::{PartitionId, PodId, Words};

use crate::pauses::{Backoff, RETRY_CAP};
use crate::pod_in_use::PodInUse;
use crate::remove::removed;
use crate::restart_on_panic::restarted_on_panic;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Controller, Environment, Journal};

/// Settles a partition without a claim, unless that is under way. A partition that cannot be removed is found
/// again at each reconfigure.
pub(crate) async fn settle_once<W: Environment>(shared: Rc<SharedState<W>>, id: PodId, seen: SeenPartition) {
    let which = (id.clone(), seen.partition.clone());
    if shared.unclaimed.borrow_mut().insert(which.clone()) {
        restarted_on_panic(&which.1, || settle(Rc::clone(&shared), id.clone(), seen.clone())).await;
        shared.unclaimed.borrow_mut().remove(&which);
    }
}

/// Tries once to remove a partition that has no claim, because an administrator says so.
pub(crate) async fn remove_foreign<W: Environment>(
    shared: Rc<SharedState<W>>,
    id: PodId,
    partition: PartitionId,
) {
    let which = (id.clone(), partition.clone());
    if !shared.unclaimed.borrow_mut().insert(which.clone()) {
        warn!("partition {partition} of {id} is being removed already");
        return;
    }
    restarted_on_panic(&which.1, || try_to_remove(Rc::clone(&shared), id.clone(), partition.clone())).await;
    shared.unclaimed.borrow_mut().remove(&which);
}

async fn try_to_remove<W: Environment>(shared: Rc<SharedState<W>>, id: PodId, partition: PartitionId) {
    let Some(pod) = shared.configured(&id) else { return };
    let tracked = shared.tracked(&partition);
    let outcome = async {
        let _turn = tracked.turn.lock().await;
        if matches!(tracked.owner.get(), PartitionOwner::Ours | PartitionOwner::Others) {
            return Err("a job has come to use its name".into());
        }
        if pod.settings.has_in_pool(&partition) {
            return Err(
                "it is of the model's pool (Pool), whose partitions only administrators remove".into()
            );
        }
        in_charge(&shared).await?;
        removed(&pod, &tracked, &partition).await
    };
    match outcome.await {
        Ok(()) => info!("partition {partition} of {id} is removed, as an administrator asked"),
        Err(why) => warn!("partition {partition} of {id} is not removed: {why}; mend that and free it again"),
    }
    shared.survey(&id);
    if tracked.owner.get() == PartitionOwner::Unknown {
        shared.close(&partition, tracked);
    }
}

/// Removes the partition if it is ours to remove, or else reports it.
async fn settle<W: Environment>(shared: Rc<SharedState<W>>, id: PodId, seen: SeenPartition) {
    let tracked = shared.tracked(&seen.partition);
    let mut backoff = Backoff::new(seen.partition.as_str(), RETRY_CAP);
    while let Some(pod) = shared.configured(&id) {
        // Between two tries other tasks get their turn, for example a new job with this id.
        let Err(why) = settled(&shared, &pod, &tracked, &seen).await else { break };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            warn!("partition {}, which no job has, is not removed: {why}; trying again", seen.partition);
        }
        sleep(pause).await;
    }
    shared.survey(&id);
    if tracked.owner.get() == PartitionOwner::Unknown {
        shared.close(&seen.partition, tracked);
    }
}

async fn settled<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    tracked: &Tracked,
    seen: &SeenPartition,
) -> Result<(), Words> {
    let (controller, partition) = (pod.controller.name(), &seen.partition);
    let _turn = tracked.turn.lock().await;
    let remove = async || {
        in_charge(shared).await?;
        removed(pod, tracked, partition).await?;
        let event = Event::UnclaimedGone { pod: pod.id.clone(), partition: partition.clone() };
        shared.environment.report(event);
        Ok::<_, Words>(())
    };
    // Another cluster may have a partition of this name on another controller.
    let is_home = tracked.home.borrow().as_ref() == Some(&pod.id);
    let is_complete = shared.environment.journal().is_complete();
    match tracked.owner.get() {
        PartitionOwner::Late(run) if is_home && tracked.calls.may_come_late() => {
            remove().await?;
            info!("{run}: partition {partition} was made after its create was given up; it is removed");
        }
        PartitionOwner::Unknown | PartitionOwner::Late(_) if is_complete && pod.settings.remove_unknown => {
            remove().await?;
            warn!(
                "controller {controller}: partition {partition}, which no job had, is removed (RemoveUnknown)"
            );
        }
        PartitionOwner::Unknown | PartitionOwner::Late(_) => report(pod, seen, is_complete),
        // The task that has it now handles it.
        PartitionOwner::Ours | PartitionOwner::Others => {}
    }
    Ok(())
}

/// Confirms that this slurmctld is in charge. A successor's job may have the partition by now, and our
/// journal does not show that.
async fn in_charge<W: Environment>(shared: &SharedState<W>) -> Result<(), Words> {
    shared.resources.confirm().await.map_err(Words::of)
}

/// Reports a partition without a claim. While the journal cannot be read, it may be one of ours and in use.
fn report<C: Controller>(pod: &PodInUse<C>, seen: &SeenPartition, journal_is_complete: bool) {
    let SeenPartition { partition, places, .. } = seen;
    let (controller, size) = (pod.controller.name(), size(places.len()));
    let partition_of =
        format!("controller {controller}: partition {partition} ({size}) is named as ours are, but");
    if journal_is_complete {
        warn!(
            "{partition_of} no job has it and the journal does not know it: another cluster's, or forgotten. It is left \
             alone and its IPUs count as used. If it is nobody's, `svipu partition free {partition} --reason forgotten`; \
             if no other cluster uses this controller, RemoveUnknown=1 removes such"
        );
    } else {
        warn!(
            "{partition_of} no job is known to have it, and the journal cannot be read. It is left alone and its IPUs \
             count as used until the journal is mended and slurmctld restarted"
        );
    }
}

/// The size in words. A controller need not give the places of the IPUs.
fn size(places: usize) -> String {
    match places {
        0 => "of unknown size".into(),
        1 => "1 IPU".into(),
        several => format!("{several} IPUs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_size_is_not_called_zero() {
        assert_eq!([0, 1, 16].map(size), ["of unknown size", "1 IPU", "16 IPUs"]);
    }
}
