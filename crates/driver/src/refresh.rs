//! The rewriting of a partition's files: a controller moved it to other IPUs, or the files may be lost.

use std::rc::Rc;
use std::time::Duration;

use ledger::{Claim, Stale};
use tokio::time::sleep;

use crate::pauses::Backoff;
use crate::settle;
use crate::shared_state::SharedState;
use crate::tracked::Tracked;
use crate::{Controller, Environment, Files};

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(30);

/// Writes the files of a running job's partition anew.
pub(crate) async fn refresh<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    why: Stale,
) {
    // A create or a bind that is under way begins a use of its own.
    let number = {
        let _turn = tracked.turn.lock().await;
        tracked.present_use.get()
    };
    if insist(&shared, &tracked, &claim, number).await {
        let (run, partition) = (claim.run, &claim.partition);
        let words = match why {
            Stale::Moved => "it was moved to other IPUs",
            Stale::MayBeLost => "an earlier slurmctld ended before they were durable",
        };
        tracing::info!("{run}: the IPUoF files of partition {partition} are written anew: {words}");
        if why == Stale::MayBeLost {
            settle::on_record(&shared, &tracked, &claim, number).await;
        }
    }
}

/// Writes the files anew and makes them durable, as often as it takes. Returns false if this use of the partition
/// ends before.
pub(crate) async fn insist<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) -> bool {
    let mut backoff = Backoff::new(claim.partition.as_str(), RETRY_CAP);
    while tracked.is_used_for(number) {
        let Err(trouble) = rewritten(shared, tracked, claim, number).await else {
            return tracked.is_used_for(number);
        };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            let (run, partition, tries) = (claim.run, &claim.partition, backoff.tries());
            tracing::warn!(
                "{run}: the IPUoF files of partition {partition} are old or lost, try {tries}: {trouble}; trying again"
            );
        }
        sleep(pause).await;
    }
    false
}

async fn rewritten<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Tracked,
    claim: &Claim,
    number: u32,
) -> Result<(), String> {
    let pod = shared.pod(claim)?;
    let Some(directory) = tracked.directory.borrow().clone().or_else(|| pod.settings.ipuof_dir.clone())
    else {
        return Ok(());
    };
    let partition = pod.on_controller(tracked, &claim.partition);
    let config = pod.controller.ipuof_config(partition).await.map_err(|error| error.message)?;
    tracked.calls.seen();
    // Another slurmctld may have given the partition to another job. Then the files are none of ours.
    shared.in_charge(claim).await;
    let _alone = tracked.files.lock().await;
    if !tracked.is_used_for(number) {
        return Ok(());
    }
    let files = shared.environment.files();
    let durable = async {
        files.deliver(&directory, claim, config).await?;
        files.flush(&directory, claim).await
    };
    shared.with_files(&directory, durable).await.map_err(|trouble| trouble.words)
}
