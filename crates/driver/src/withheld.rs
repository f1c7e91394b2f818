//! Partitions that no run gets before a certain time, which is in the journal.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ledger::{Claim, Seconds};
use tokio::time::sleep;
use vipu_types::PartitionId;

use crate::pauses::RETRY_CAP;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Entry, Environment};

/// The time for which a partition that is gone stays on record, if one of its calls was never answered. A
/// controller that hung may carry out old calls. A partition made within this time is removed. One made later
/// is reported as unknown. While the entry exists, no slurmctld reuses the id and removes a wrong partition.
pub(crate) const LATE_CALL: Duration = Duration::from_secs(600);

/// Records that no job gets this partition of a pool for the time `left`.
pub(crate) async fn withhold_in_pool<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    left: Duration,
) {
    let until = Seconds(shared.environment.unix_time().0.saturating_add_unsigned(left.as_secs()));
    // A partition of an earlier mode is removed.
    if tracked.stays.get() {
        withhold(&shared, &tracked, &claim, until).await;
    }
}

/// Records that no run gets the partition until this time.
pub(crate) async fn withhold<W: Environment>(
    shared: &SharedState<W>,
    tracked: &Tracked,
    claim: &Claim,
    until: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    tracked.withheld.set(Some(until));
    let (stays, unanswered) = (tracked.stays.get(), tracked.calls.number_unanswered());
    let ipuof_dir = tracked.directory.borrow().as_deref().map(Path::to_path_buf).filter(|_| stays);
    shared
        .resources
        .note(Entry::Withheld { claim: claim.clone(), ipuof_dir, stays, unanswered, until }, claim)
        .await;
}

/// Records that a partition of a pool is given to jobs again. One with files in a directory that is away keeps its entry.
pub(crate) async fn end<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    partition: PartitionId,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.withheld.take().is_none() {
        return;
    }
    // An administrator says that no call for it comes any more.
    tracked.change_may_come_late.set(false);
    tracked.calls.forget();
    if tracked.fileless.get()
        && let Err(error) = shared.resources.record(Entry::Gone(partition)).await
    {
        tracing::debug!("the next slurmctld withholds it again: {error}");
    }
}

/// Waits until the time of a partition is over, and ends its entry. False if a run has it by then, or if it has another
/// time.
pub(crate) async fn over<W: Environment>(shared: &SharedState<W>, tracked: &Tracked, claim: &Claim) -> bool {
    let until = tracked.withheld.get();
    if let Some(until) = until {
        let left = until.0.saturating_sub(shared.environment.unix_time().0);
        // The clock may have been set back.
        sleep(Duration::from_secs(left.try_into().unwrap_or_default()).min(LATE_CALL)).await;
        while shared.is_seen_to(&claim.partition) {
            sleep(RETRY_CAP).await;
        }
    }
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == PartitionOwner::Ours || tracked.withheld.get() != until {
        return false;
    }
    tracked.withheld.set(None);
    tracked.change_may_come_late.set(false);
    tracked.calls.forget();
    shared.resources.note(Entry::Gone(claim.partition.clone()), claim).await;
    tracked.owner.set(PartitionOwner::Unknown);
    true
}
