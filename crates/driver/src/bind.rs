//! A partition that was made before its job had nodes becomes that of the job's run.

use std::path::Path;
use std::rc::Rc;

use ledger::Claim;

use crate::context::Context;
use crate::tracked::{Owner, Tracked};
use crate::{Entry, Environment};

/// Has the journal say whose the partition is now. Nobody waits for that: a slurmctld that is killed before may find
/// it prepared, and its job waiting or running; either way it is that job's.
pub(crate) async fn bind<W: Environment>(context: Rc<Context<W>>, tracked: Rc<Tracked>, claim: Claim) {
    let _turn = tracked.turn.lock().await;
    if tracked.owner.get() != Owner::Ours {
        return;
    }
    let ipuof_dir = tracked.directory.borrow().as_deref().map(Path::to_path_buf);
    context.note(Entry::Create { claim: claim.clone(), ipuof_dir }, &claim).await;
    if tracked.unanswered.get() == 0 {
        context.note(Entry::Created(claim.partition.clone()), &claim).await;
    }
}
