//! The journal entries about a run that has a partition: it has begun, was launched, or has failed.

use std::path::Path;
use std::rc::Rc;

use ledger::{Claim, Event, Seconds};

use crate::durable_files::make_durable;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Entry, Environment};

/// Records that a run has begun on a prepared partition. No task waits for the entry. If slurmctld is killed
/// before, the next one finds the partition prepared, and its job waiting or running. Either way the
/// partition is that job's.
pub(crate) async fn bind<W: Environment>(shared: Rc<SharedState<W>>, tracked: Rc<Tracked>, claim: Claim) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() != PartitionOwner::Ours {
        return;
    }
    tracked.begin_next_use();
    let ipuof_dir = tracked.directory.borrow().as_deref().map(Path::to_path_buf);
    let (stays, unanswered) = (tracked.stays.get(), tracked.calls.number_unanswered());
    shared.resources.note(Entry::Create { claim: claim.clone(), ipuof_dir, stays, unanswered }, &claim).await;
    make_durable(&shared, &tracked, &claim);
}

/// Records that a batch script was launched. Slurm saves that seconds later, and the slurmctld after a crash
/// must not launch the script again.
pub(crate) async fn launched<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    at: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == PartitionOwner::Ours {
        shared.resources.note(Entry::Launched { partition: claim.partition.clone(), at }, &claim).await;
    }
}

/// Records that the partition of a failed run is kept, and reports that. A later slurmctld may find no trace of the job.
pub(crate) async fn keep<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    until: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == PartitionOwner::Ours {
        shared.resources.note(Entry::Kept { partition: claim.partition.clone(), until }, &claim).await;
    }
    shared.environment.report(Event::KeepRecorded(claim.partition));
}
