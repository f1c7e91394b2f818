//! The rewriting of files after a controller moved a partition to other IPUs.

use std::rc::Rc;
use std::time::Duration;

use ledger::Claim;
use tokio::time::sleep;

use crate::pauses::Backoff;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Controller, Environment, Files};

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(5);

/// The number of tries, after which the job keeps the old files. An ending job waits for the tries.
const TRIES: u32 = 5;

/// Writes the files of a running job's partition anew.
pub(crate) async fn refresh<W: Environment>(shared: Rc<SharedState<W>>, tracked: Rc<Tracked>, claim: Claim) {
    let (run, partition) = (claim.run, &claim.partition);
    let mut backoff = Backoff::new(partition.as_str(), RETRY_CAP);
    let _turn = tracked.turn.lock().await;
    while tracked.owner.get() == PartitionOwner::Ours {
        let Err(trouble) = rewritten(&shared, &tracked, &claim).await else {
            return tracing::info!(
                "{run}: partition {partition} was relocated; the files it has are written anew"
            );
        };
        let pause = backoff.next_pause();
        if backoff.tries() == TRIES {
            return tracing::error!(
                "{run}: partition {partition} was relocated, its files are the old ones or gone: {trouble}"
            );
        }
        sleep(pause).await;
    }
}

async fn rewritten<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
) -> Result<(), String> {
    let pod = shared.pod(claim)?;
    let Some(directory) = tracked.directory.borrow().clone().or_else(|| pod.settings.ipuof_dir.clone())
    else {
        return Ok(());
    };
    let config = pod.controller.ipuof_config(&claim.partition).await.map_err(|error| error.message)?;
    let _alone = tracked.files.lock().await;
    let delivered =
        shared.with_files(&directory, shared.environment.files().deliver(&directory, claim, config)).await;
    delivered.map_err(|trouble| trouble.words)
}
