//! What becomes of the run that has a partition, put on record: it has begun, was launched, has failed.

use std::path::Path;
use std::rc::Rc;

use ledger::{Claim, Seconds};

use crate::context::Context;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Entry, Environment};

/// A run has begun on a prepared partition: has the journal say whose it is now. Nobody waits for that: a
/// slurmctld that is killed before may find it prepared, and its job waiting or running; either way it is
/// that job's.
pub(crate) async fn bind<W: Environment>(context: Rc<Context<W>>, tracked: Rc<Tracked>, claim: Claim) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() != PartitionOwner::Ours {
        return;
    }
    let ipuof_dir = tracked.directory.borrow().as_deref().map(Path::to_path_buf);
    context.note(Entry::Create { claim: claim.clone(), ipuof_dir }, &claim).await;
    if tracked.unanswered.get() == 0 {
        context.note(Entry::Created(claim.partition.clone()), &claim).await;
    }
}

/// A batch script was launched: has the journal say so. Slurm saves that seconds later, and a slurmctld that
/// is killed before must not launch it again.
pub(crate) async fn launched<W: Environment>(
    context: Rc<Context<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    at: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == PartitionOwner::Ours {
        context.note(Entry::Launched { partition: claim.partition.clone(), at }, &claim).await;
    }
}

/// The partition of a run that failed stays for a while: has the journal say so. A later slurmctld may find
/// no trace of the job any more.
pub(crate) async fn keep<W: Environment>(
    context: Rc<Context<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    until: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == PartitionOwner::Ours {
        context.note(Entry::Kept { partition: claim.partition.clone(), until }, &claim).await;
    }
}
