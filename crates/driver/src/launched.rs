//! A batch script was launched.

use std::rc::Rc;

use ledger::{Claim, Seconds};

use crate::lane::{Lane, Owner};
use crate::shop::Shop;
use crate::{Entry, World};

/// Has the journal say so: Slurm saves that seconds later, and a slurmctld that is killed before must not launch it again.
pub(crate) async fn launched<W: World>(shop: Rc<Shop<W>>, lane: Rc<Lane>, claim: Claim, at: Seconds) {
    let _turn = lane.turn.lock().await;
    if lane.owner.get() == Owner::Ours {
        shop.note(Entry::Launched { partition: claim.partition.clone(), at }, &claim).await;
    }
}
