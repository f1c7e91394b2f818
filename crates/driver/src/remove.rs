//! The removal of a partition: journal, call, poll, files, journal. It is never given up.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Seconds};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use vipu_types::{PartitionId, Words, words};

use crate::pauses::{Backoff, RETRY_CAP, poll_pause};
use crate::pod_in_use::PodInUse;
use crate::resource::SLOW;
use crate::resource_probes::FilesTrouble;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{CallError, Controller, Entry, Environment, Files, PartitionState, withheld};

/// The longest time for an accepted remove before the call is repeated.
const REMOVE_TIME: Duration = Duration::from_secs(60);

/// The time after which the call is repeated for a partition that is still active. A late create may have
/// made it once more.
const STILL_ACTIVE: Duration = Duration::from_secs(2);

/// Removes the partition of `claim` and its files when its turn comes. Returns when both are gone. A
/// partition of others, of a pool, or shared by all jobs stays.
pub(crate) async fn remove<W: Environment>(shared: Rc<SharedState<W>>, tracked: Rc<Tracked>, claim: Claim) {
    let _turn = tracked.turn.lock().await;
    tracked.begin_next_use();
    let began = Instant::now();
    let (shared, tracked, claim) = (&shared, &tracked, &claim);
    let (run, partition) = (claim.run, &claim.partition);
    match tracked.owner.get() {
        PartitionOwner::Ours | PartitionOwner::Late(_) => {}
        // One that is in no journal may have been removed before. A survey reports it otherwise.
        PartitionOwner::Others | PartitionOwner::Unknown => return,
    }
    let mut was_there = true;
    if !tracked.stays.get() {
        let unanswered = Some(tracked.calls.number_unanswered());
        shared.resources.note(Entry::Remove { claim: claim.clone(), unanswered }, claim).await;
        let pod = insist(shared, tracked, claim, async || {
            let pod = shared.pod(&tracked.at_home(claim))?;
            was_there = tracked.calls.was_made() || is_there(&pod, tracked, partition).await?;
            if was_there {
                removed(&pod, tracked, partition).await?;
            }
            Ok(pod)
        })
        .await;
        if tracked.directory.borrow().is_none() {
            tracked.directory.replace(pod.settings.ipuof_dir.clone());
        }
    }
    // No task waits for a directory that is away. Only the journal entry stays until the files are deleted.
    let _ = timeout(SLOW, delete_files(shared, tracked, claim, None)).await;
    failpoints::hold!("cleared");
    if tracked.calls.may_come_late() || !tracked.fileless.get() {
        tracked.owner.set(PartitionOwner::Late(run));
    } else {
        if !tracked.change_may_come_late.get() && tracked.withheld.get().is_none() {
            shared.resources.note(Entry::Gone(partition.clone()), claim).await;
        }
        tracked.owner.set(PartitionOwner::Unknown);
    }
    let seconds = began.elapsed().as_secs_f64();
    match was_there {
        _ if tracked.stays.get() => {
            tracing::info!("{run}: partition {partition} is given back in {seconds:.3} s")
        }
        true => tracing::info!("{run}: partition {partition} removed in {seconds:.3} s"),
        false => tracing::info!("{run}: the controller has no partition {partition}"),
    }
}

/// Whether the controller has a partition that it is not known to have made.
async fn is_there<C: Controller>(
    pod: &PodInUse<C>,
    tracked: &Tracked,
    partition: &PartitionId,
) -> Result<bool, Words> {
    match pod.status(partition).await.map_err(|error| error.message)? {
        PartitionState::Absent => return Ok(false),
        // A controller may show a partition that it never had as removed.
        PartitionState::Removed => {}
        _ => tracked.calls.seen(),
    }
    Ok(true)
}

/// Handles the remains of a partition without a run: files in a directory that was away, calls that may still take effect,
/// and the time for which no run gets it.
pub(crate) async fn watch<W: Environment>(shared: &Rc<SharedState<W>>, tracked: Rc<Tracked>, claim: &Claim) {
    let until =
        Seconds(shared.environment.unix_time().0.saturating_add_unsigned(withheld::LATE_CALL.as_secs()));
    let has_late_calls = || tracked.calls.may_come_late() || tracked.change_may_come_late.get();
    let has_remains = matches!(tracked.owner.get(), PartitionOwner::Late(_)) || has_late_calls();
    if has_remains || tracked.withheld.get().is_some() {
        files_gone(shared, &tracked, claim).await;
        if has_late_calls() && tracked.withheld.get().is_none() {
            // The next slurmctld need not remove the partition again, and knows how much of the time is left.
            withheld::withhold(shared, &tracked, claim, until).await;
        }
        if !withheld::over(shared, &tracked, claim).await {
            return;
        }
    }
    shared.close(&claim.partition, tracked);
}

/// Goes on with [`watch`] after an earlier slurmctld.
pub(crate) async fn watch_on<W: Environment>(shared: Rc<SharedState<W>>, tracked: Rc<Tracked>, claim: Claim) {
    files_gone(&shared, &tracked, &claim).await;
    if withheld::over(&shared, &tracked, &claim).await {
        shared.close(&claim.partition, tracked);
    }
}

/// Repeats `attempt` until it succeeds, also as soon as the controller answers again. Logs failures ever more rarely.
async fn insist<T, W: Environment>(
    shared: &SharedState<W>,
    tracked: &Tracked,
    claim: &Claim,
    mut attempt: impl AsyncFnMut() -> Result<T, Words>,
) -> T {
    let mut backoff = Backoff::new(claim.partition.as_str(), RETRY_CAP);
    loop {
        let trouble = match attempt().await {
            Ok(done) => return done,
            Err(trouble) => trouble,
        };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            let (run, partition, tries) = (claim.run, &claim.partition, backoff.tries());
            tracing::warn!("{run}: partition {partition} not removed, try {tries}: {trouble}; trying again");
        }
        match shared.pod(&tracked.at_home(claim)) {
            Ok(pod) => drop(timeout(pause, pod.observed.is_back.notified()).await),
            Err(_) => sleep(pause).await,
        }
    }
}

/// Repeats the deletion of the files until it succeeds.
async fn files_gone<W: Environment>(shared: &Rc<SharedState<W>>, tracked: &Rc<Tracked>, claim: &Claim) {
    let mut backoff = Backoff::new(claim.partition.as_str(), RETRY_CAP);
    while !tracked.fileless.get() && tracked.owner.get() != PartitionOwner::Ours {
        let Err(trouble) = delete_files(shared, tracked, claim, None).await else { return };
        let pause = backoff.next_pause();
        if backoff.worth_a_line() {
            let (partition, words) = (&claim.partition, &trouble.words);
            tracing::warn!(
                "partition {partition} is gone, and its IPUoF files are still there: {words}; trying again"
            );
        }
        sleep(pause).await;
        if trouble.is_shared {
            trouble.directory.well().await;
        }
    }
}

/// Tries once to delete the files, after any write under way. They are in `directory`, or in the directory
/// that they were last written to. The deletion runs to its end even if the caller stops waiting.
pub(crate) fn delete_files<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Rc<Tracked>,
    claim: &Claim,
    directory: Option<Arc<Path>>,
) -> impl Future<Output = Result<(), FilesTrouble>> + use<W> {
    let (shared, tracked, claim) = (Rc::clone(shared), Rc::clone(tracked), claim.clone());
    let deleting = spawn_local(async move {
        let _alone = tracked.files.lock().await;
        let directory =
            directory.or_else(|| tracked.directory.borrow().clone().filter(|_| !tracked.fileless.get()));
        if let Some(directory) = directory {
            shared
                .resources
                .with_files(&directory, shared.environment.files().withdraw(&directory, &claim))
                .await?;
        }
        tracked.fileless.set(true);
        Ok(())
    });
    async {
        match deleting.await {
            Ok(deleted) => deleted,
            Err(broken) => std::panic::resume_unwind(broken.into_panic()),
        }
    }
}

/// Tries once to remove the partition, with the settings in force.
pub(crate) async fn removed<C: Controller>(
    pod: &PodInUse<C>,
    tracked: &Tracked,
    partition: &PartitionId,
) -> Result<(), Words> {
    call(pod, tracked, partition).await.map_err(|error| error.message)?;
    let began = Instant::now();
    failpoints::hold!("remove_acknowledged");
    confirm_gone(pod, partition).await?;
    pod.observed.usual.removal.set(Some(began.elapsed()));
    Ok(())
}

/// Sends a remove call, and remembers if it was not answered.
pub(crate) async fn call<C: Controller>(
    pod: &PodInUse<C>,
    tracked: &Tracked,
    partition: &PartitionId,
) -> Result<(), CallError> {
    let answer = pod.controller.remove(partition, pod.settings.force_remove).await;
    if answer.as_ref().is_err_and(|error| error.failure.may_take_effect()) {
        tracked.change_may_come_late.set(true);
    }
    answer
}

/// Waits until a partition that is being removed is gone.
pub(crate) async fn confirm_gone<C: Controller>(
    pod: &PodInUse<C>,
    partition: &PartitionId,
) -> Result<(), Words> {
    let (controller, force) = (&pod.controller, pod.settings.force_remove);
    let began = Instant::now();
    loop {
        match pod.status(partition).await.map_err(|error| error.message)? {
            PartitionState::Absent => return Ok(()),
            PartitionState::Failed(words) => {
                let advice = if force { "" } else { "; ForceDeletePartition=1 would ignore that" };
                return Err(words!("controller {}: removing it failed: {words}{advice}", controller.name()));
            }
            PartitionState::Active if began.elapsed() >= STILL_ACTIVE => {
                return Err(words!("controller {}: it is still active", controller.name()));
            }
            // This state has its own time limit.
            PartitionState::Removed => {}
            _ if began.elapsed() >= REMOVE_TIME => {
                let seconds = REMOVE_TIME.as_secs();
                return Err(words!("controller {}: still there after {seconds} s", controller.name()));
            }
            _ => {}
        }
        sleep(poll_pause(began.elapsed(), pod.observed.usual.removal.get())).await;
    }
}
