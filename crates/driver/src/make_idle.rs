//! The end of a run whose partition stays idle: files deleted, partition reset, for the next job.

use std::rc::Rc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::time::{Instant, sleep, timeout};
use vipu_types::{PartitionId, Words, words};

use crate::pauses::poll_pause;
use crate::pod_in_use::PodInUse;
use crate::remove::delete_files;
use crate::resource::SLOW;
use crate::shared_state::SharedState;
use crate::tracked::Tracked;
use crate::{Controller, Entry, Environment, PartitionState};

/// The longest time between the answer to a reset and its visible begin. Nothing else shows that a partition
/// was reset.
const LATEST_BEGIN: Duration = Duration::from_secs(5);

/// Makes a partition without a run ready for the next job. Returns Idle or NotIdle. The journal keeps
/// its entry: a later slurmctld finds a partition without a run, and removes it. That of a partition of a pool ends,
/// because a later slurmctld would look for processes of its run.
pub(crate) async fn make_idle<W: Environment>(
    shared: Rc<SharedState<W>>,
    tracked: Rc<Tracked>,
    claim: Claim,
    reset: bool,
) -> Event {
    let _turn = tracked.turn.lock().await;
    tracked.begin_next_use();
    let began = Instant::now();
    let (run, partition) = (claim.run, &claim.partition);
    match made_idle(&shared, &tracked, &claim, reset).await {
        Ok(pod) => {
            if tracked.stays.get() {
                shared.resources.note(Entry::Gone(partition.clone()), &claim).await;
            }
            let (reset, took) = (if reset { ", reset" } else { "" }, began.elapsed());
            pod.controller.stays_idle(partition, took);
            let seconds = took.as_secs_f64();
            tracing::info!("{run}: partition {partition} stays idle{reset} after {seconds:.3} s");
            Event::Idle(partition.clone())
        }
        Err(why) => {
            let what = if tracked.stays.get() {
                "is out of use for a while"
            } else {
                "is removed and does not stay idle"
            };
            tracing::info!("{run}: partition {partition} {what}: {why}");
            Event::NotIdle(partition.clone())
        }
    }
}

async fn made_idle<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Rc<Tracked>,
    claim: &Claim,
    reset: bool,
) -> Result<Rc<PodInUse<W::Controller>>, Words> {
    if tracked.before.is_some() && !tracked.stays.get() {
        return Err("an earlier slurmctld has made it".into());
    }
    if !tracked.is_reusable() {
        return Err("a call that was sent for it before may still take effect".into());
    }
    let pod = shared.pod(&tracked.at_home(claim))?;
    let deleted = timeout(SLOW, delete_files(shared, tracked, claim, None)).await;
    deleted.map_err(|_| "its IPUoF files could not be deleted yet")?.map_err(|trouble| trouble.words)?;
    failpoints::hold!("idle_without_files");
    if reset {
        shared.resources.confirm().await.map_err(Words::of)?;
        let limit = pod.settings.create_timeout;
        let in_time = timeout(limit, reset_to_active(&pod, tracked, &claim.partition)).await;
        in_time.map_err(|_| words!("its reset took more than {} s", limit.as_secs()))??;
        return Ok(pod);
    }
    match pod.status(&claim.partition).await.map_err(|error| error.message)? {
        PartitionState::Active => Ok(pod),
        state => Err(words!("its controller shows it as {state:?}")),
    }
}

/// Resets a partition and waits until it is active again.
pub(crate) async fn reset_to_active<C: Controller>(
    pod: &PodInUse<C>,
    tracked: &Tracked,
    partition: &PartitionId,
) -> Result<(), Words> {
    // This future may be dropped, and a controller may carry out a reset long after its answer.
    let before = tracked.change_may_come_late.replace(true);
    let answer = pod.controller.reset(partition).await;
    if answer.as_ref().is_err_and(|error| !error.failure.may_take_effect()) {
        tracked.change_may_come_late.set(before);
    }
    answer.map_err(|error| error.message)?;
    failpoints::hold!("reset_acknowledged");
    let (controller, began) = (&pod.controller, Instant::now());
    let mut is_under_way = false;
    loop {
        match pod.status(partition).await.map_err(|error| error.message)? {
            PartitionState::Pending | PartitionState::Resetting => is_under_way = true,
            PartitionState::Active if is_under_way => {
                tracked.change_may_come_late.set(before);
                pod.observed.usual.reset.set(Some(began.elapsed()));
                return Ok(());
            }
            PartitionState::Active if began.elapsed() < LATEST_BEGIN => {}
            PartitionState::Active => {
                return Err(words!("controller {}: its reset has not begun", controller.name()));
            }
            PartitionState::Failed(words) => {
                tracked.change_may_come_late.set(before);
                return Err(words!("controller {}: its reset failed: {words}", controller.name()));
            }
            PartitionState::Absent | PartitionState::Removing | PartitionState::Removed => {
                return Err(words!("controller {}: somebody has removed it", controller.name()));
            }
        }
        sleep(poll_pause(began.elapsed(), pod.observed.usual.reset.get())).await;
    }
}
