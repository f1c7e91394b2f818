//! The wait of a create for its turn, and for the idle partitions that are removed for it.

use std::rc::Rc;

use ledger::{Claim, Event};
use tokio::task::spawn_local;
use tokio_util::sync::CancellationToken;
use vipu_types::{PartitionId, words};

use crate::create::Start;
use crate::create_deadline::Stop;
use crate::shared_state::SharedState;
use crate::tracked::PartitionOwner;
use crate::{Entry, Environment, create, create_progress};

/// The reason for which a create waits for others' removals.
const REMOVALS: &str = "idle partitions are being removed for it";

/// Starts the task that makes the claim's partition, when no other task has the partition id, and the partitions
/// `before` it are removed.
pub(crate) fn create<W: Environment>(
    shared: &Rc<SharedState<W>>,
    claim: Claim,
    before: Vec<PartitionId>,
    start: Start,
) {
    let shared = Rc::clone(shared);
    let tracked = shared.tracked(&claim.partition);
    let cancel = CancellationToken::new();
    tracked.cancel.replace(cancel.clone());
    let before: Vec<_> = before.iter().filter_map(|other| shared.known(other)).collect();
    let before: Vec<_> = before.iter().map(|other| other.gone.borrow().clone()).collect();
    let before: Vec<_> = before.into_iter().filter(|gone| !gone.is_cancelled()).collect();
    let waits_for_removals = !before.is_empty();
    // The time limit begins with the order, whatever the order waits for first.
    let deadline = create::deadline(&shared, &claim, cancel);
    spawn_local(async move {
        let turn = async {
            let turn = tracked.turn.lock().await;
            if waits_for_removals {
                shared.environment.show(claim.run, create_progress::waiting(&claim, REMOVALS));
            }
            for other in before {
                other.cancelled().await;
            }
            turn
        };
        let answer = match deadline.hold(turn).await {
            Ok(_turn) => {
                let work = {
                    let (shared, tracked, claim) = (Rc::clone(&shared), Rc::clone(&tracked), claim.clone());
                    async move { create::create(&shared, &tracked, &claim, start, deadline).await }
                };
                // Every create has one answer, even after a fault in this program.
                let answer = spawn_local(work).await.unwrap_or_else(|broken| Event::CreateFailed {
                    partition: claim.partition.clone(),
                    reason: words!("internal error, please report: {broken}"),
                });
                if tracked.owner.get() == PartitionOwner::Others && tracked.recorded.replace(false) {
                    // The intent came to nothing. A partition of others must not be removed because of
                    // it.
                    shared.resources.note(Entry::Gone(claim.partition.clone()), &claim).await;
                }
                answer
            }
            Err(Stop::TimedOut) if waits_for_removals => {
                let reason = words!(
                    "partition {} could not be asked for within {} s: {REMOVALS}; slurmctld's log says why",
                    claim.partition,
                    deadline.seconds()
                );
                create::not_begun(&claim, &deadline, &Stop::PutOff(reason))
            }
            Err(stop) => create::not_begun(&claim, &deadline, &stop),
        };
        shared.environment.report(answer);
    });
}
