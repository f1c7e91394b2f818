//! A batch script was launched.

use std::rc::Rc;

use ledger::{Claim, Seconds};

use crate::context::Context;
use crate::tracked::{Owner, Tracked};
use crate::{Entry, Environment};

/// Has the journal say so: Slurm saves that seconds later, and a slurmctld that is killed before must not launch it again.
pub(crate) async fn launched<W: Environment>(
    context: Rc<Context<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    at: Seconds,
) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() == Owner::Ours {
        context.note(Entry::Launched { partition: claim.partition.clone(), at }, &claim).await;
    }
}
