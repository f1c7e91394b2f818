//! The partitions of ours in a listing, and those that it does not show.

use std::collections::HashSet;

use ledger::SeenPartition;
use vipu_types::{PartitionId, PodId};

use crate::pod_in_use::PodInUse;
use crate::shared_state::SharedState;
use crate::tracked::PartitionOwner;
use crate::{Environment, Listing, PartitionState};

/// Compares a listing with what the driver knows, and completes it. Returns false if the controller falls silent
/// meanwhile.
pub(super) async fn complete<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    listing: &mut Listing,
) -> bool {
    note_what_is_shown(shared, &pod.id, listing);
    say_what_is_wrong(shared, pod, listing).await && add_what_is_not_shown(shared, pod, listing).await
}

/// Notes the partitions of ours that the controller has.
fn note_what_is_shown<W: Environment>(shared: &SharedState<W>, pod: &PodId, listing: &Listing) {
    for seen in listing.partitions.iter().filter(|seen| !seen.leaving) {
        let known = shared.known(&seen.partition);
        let ours = known.filter(|known| known.owner.get() == PartitionOwner::Ours);
        if let Some(ours) = ours.filter(|ours| ours.home.borrow().as_ref() == Some(pod)) {
            ours.calls.listed();
        }
    }
}

/// Asks for the fault of each unusable partition of ours, because a listing does not give it. Returns false
/// if the controller falls silent, because each further call could then last until its deadline.
async fn say_what_is_wrong<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let faulty = listing.partitions.iter_mut().filter_map(|it| Some((&it.partition, it.fault.as_mut()?)));
    for (partition, fault) in faulty.filter(|(partition, _)| shared.known(partition).is_some()) {
        match pod.status(partition).await {
            Ok(PartitionState::Failed(words)) => *fault = words,
            Err(error) if error.failure.is_silence() => return false,
            _ => {}
        }
    }
    true
}

/// Adds the partitions of ours that the listing lacks, unless a status call says that they are gone. A listing
/// may be of one allocation, and not the one in which the job began. The places of these IPUs are unknown.
/// Returns false if the controller falls silent. The partitions that were not asked for count as existing.
async fn add_what_is_not_shown<W: Environment>(
    shared: &SharedState<W>,
    pod: &PodInUse<W::Controller>,
    listing: &mut Listing,
) -> bool {
    let mut answers = true;
    let shown: HashSet<_> = listing.partitions.iter().map(|seen| seen.partition.clone()).collect();
    let is_in_shared = |partition: &PartitionId| {
        pod.settings.shared.is_some() && shared.known(partition).is_some_and(|known| known.stays.get())
    };
    for partition in shared.partitions_of_ours(&pod.id).into_iter().filter(|ours| !shown.contains(ours)) {
        if answers && !is_in_shared(&partition) {
            match pod.status(&partition).await {
                Ok(PartitionState::Absent | PartitionState::Removed) => continue,
                Err(error) if error.failure.is_silence() => answers = false,
                _ => {}
            }
        }
        listing.partitions.push(SeenPartition { partition, places: Vec::new(), fault: None, leaving: false });
    }
    answers
}
