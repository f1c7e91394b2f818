//! A partition that was made before its job had nodes becomes that of the job's run.

use std::path::Path;
use std::rc::Rc;

use ledger::Claim;

use crate::lane::{Lane, Owner};
use crate::shop::Shop;
use crate::{Entry, World};

/// Has the journal say whose the partition is now. Nobody waits for that: a slurmctld that is killed before may find
/// it prepared, and its job waiting or running; either way it is that job's.
pub(crate) async fn bind<W: World>(shop: Rc<Shop<W>>, lane: Rc<Lane>, claim: Claim) {
    let _turn = lane.turn.lock().await;
    if lane.owner.get() != Owner::Ours {
        return;
    }
    let ipuof_dir = lane.directory.borrow().as_deref().map(Path::to_path_buf);
    shop.note(Entry::Create { claim: claim.clone(), ipuof_dir }, &claim).await;
    if lane.unanswered.get() == 0 {
        shop.note(Entry::Created(claim.partition.clone()), &claim).await;
    }
}
