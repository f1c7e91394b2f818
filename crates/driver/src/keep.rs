//! The partition of a run that failed stays for a while.

use std::rc::Rc;

use ledger::{Claim, Seconds};

use crate::lane::{Lane, Owner};
use crate::shop::Shop;
use crate::{Entry, World};

/// Has the journal say so: a later slurmctld may find no trace of the job any more.
pub(crate) async fn keep<W: World>(shop: Rc<Shop<W>>, lane: Rc<Lane>, claim: Claim, until: Seconds) {
    let _turn = lane.turn.lock().await;
    if lane.owner.get() == Owner::Ours {
        shop.note(Entry::Kept { partition: claim.partition.clone(), until }, &claim).await;
    }
}
