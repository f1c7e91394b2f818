//! The partition of a run that failed stays for a while.

use std::rc::Rc;

use ledger::{Claim, Seconds};

use crate::context::Context;
use crate::tracked::{Owner, Tracked};
use crate::{Entry, Environment};

/// Has the journal say so: a later slurmctld may find no trace of the job any more.
pub(crate) async fn keep<W: Environment>(
    context: Rc<Context<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    until: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == Owner::Ours {
        context.note(Entry::Kept { partition: claim.partition.clone(), until }, &claim).await;
    }
}
