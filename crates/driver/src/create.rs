//! The create of a partition: journal, call, poll, configuration, files, journal.

mod call;
mod files;
mod id;
mod reuse;
mod tries;

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, PartitionId};

use crate::call_failure::Counts;
use crate::create_deadline::{self, CreateDeadline, Stop};
use crate::create_progress::CreateProgress;
use crate::pauses::poll_pause;
use crate::pod_in_use::{PlaceInQueue, PodInUse};
use crate::settle::settle;
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Controller, Environment, Journal, PartitionState, remove};
use tries::Setback;

/// The time limit of the create for `claim`. It runs from now on.
pub(crate) fn deadline<W: Environment>(
    shared: &Rc<SharedState<W>>,
    claim: &Claim,
    cancel: CancellationToken,
) -> CreateDeadline {
    // Without a Pod the create ends at once.
    let Ok(pod) = shared.pod(claim) else { return CreateDeadline::new(cancel, Duration::ZERO) };
    let deadline =
        CreateDeadline::new(cancel, create_deadline::limit(claim.run, pod.settings.create_timeout));
    deadline.minds(&shared.needs(&pod));
    deadline
}

/// The answer for a create that ended before its turn. It says nothing about the job.
pub(crate) fn not_begun(claim: &Claim, deadline: &CreateDeadline, stop: &Stop) -> Event {
    let partition = claim.partition.clone();
    let reason = match stop {
        Stop::Cancelled => return Event::CreateCancelled(partition),
        Stop::PutOff(reason) => reason.clone(),
        _ => format!(
            "partition {partition} could not be asked for within {} s: other calls are under way",
            deadline.seconds()
        ),
    };
    tracing::warn!("{}: {reason}", claim.run);
    Event::CreatePutOff { partition, reason }
}

/// The way to the partition of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It is made.
    Anew,
    /// It is idle, and given to the claim.
    Reuse {
        /// The last run that had it, as far as is known.
        before: Option<JobRun>,
        /// Whether it is reset first.
        reset: bool,
    },
}

/// Makes the partition of `claim`, or gives it an idle one. Returns Up, CreateFailed, CreatePutOff or CreateCancelled.
pub(crate) async fn create<W: Environment>(
    shared: &Rc<SharedState<W>>,
    tracked: &Rc<Tracked>,
    claim: &Claim,
    start: Start,
    deadline: CreateDeadline,
) -> Event {
    let began = Instant::now();
    let (partition, run) = (claim.partition.clone(), claim.run);
    let failed = |reason: String| {
        match run.has_begun() {
            true => tracing::warn!("{run} cannot start: {reason}"),
            false => tracing::warn!("{run} is not prepared, and starts like others: {reason}"),
        }
        Event::CreateFailed { partition: claim.partition.clone(), reason }
    };
    if !shared.environment.journal().is_complete() {
        return failed("the journal cannot be read, see slurmctld's log".into());
    }
    let pod = match shared.pod(claim) {
        Ok(pod) => pod,
        Err(why) => return failed(why),
    };
    if tracked.owner.get() == PartitionOwner::Unknown {
        let stays = pod.settings.stays(&partition);
        tracked.stays.set(stays);
        tracked.owner.set(if stays { PartitionOwner::Ours } else { PartitionOwner::Others });
    }
    if matches!(start, Start::Reuse { before: None, .. }) && !tracked.stays.get() {
        let reason = format!("partition {partition} is not in the pool any more");
        return Event::CreatePutOff { partition, reason };
    }
    let progress = CreateProgress::new(claim, pod.usual_create.get());
    let mut create = Create {
        shared,
        pod,
        slot: None,
        tracked,
        claim,
        deadline,
        has_begun: false,
        place: None,
        intent: None,
        start,
        // A run on record had its reset, and may have processes on the partition.
        reset: matches!(start, Start::Reuse { reset: true, .. }) && !tracked.is_on_record(claim.run),
        may_exist: tracked.owner.get() == PartitionOwner::Ours,
        trouble: Cow::Borrowed(""),
        progress: &progress,
    };
    let made = tokio::select! {
        biased;
        never = progress.announce(&shared.environment) => match never {},
        never = progress.announce_trouble(shared) => match never {},
        made = create.run() => made,
    };
    match made {
        Ok(()) => {
            let (size, took) = (claim.size, began.elapsed());
            let made = match create.start {
                Start::Anew => "made",
                Start::Reuse { before, .. } => {
                    create.pod.controller.reused(&partition, before, took);
                    "reused"
                }
            };
            let seconds = took.as_secs_f64();
            tracing::info!("partition {partition} of {size} IPUs {made} in {seconds:.3} s for {run}");
            Event::Up(partition)
        }
        Err(Stop::Cancelled) => Event::CreateCancelled(partition),
        Err(stop) if !create.has_begun => not_begun(claim, &create.deadline, &stop),
        Err(Stop::IdSpent) => {
            let reason = format!(
                "partition {partition} is not made: a call that was sent for this id before may still take effect; \
                 another id is used the next time"
            );
            tracing::warn!("{run}: {reason}");
            Event::CreatePutOff { partition, reason }
        }
        Err(Stop::PutOff(reason)) => {
            tracing::warn!("{run}: {reason}; it goes back into the line");
            Event::CreatePutOff { partition, reason }
        }
        Err(Stop::TimedOut) => {
            let (limit, trouble) = (create.deadline.seconds(), create.trouble);
            let before = progress.setback().filter(|setback| !setback.ends_with(&*trouble));
            let before = before.map(|setback| format!("; before: {setback}")).unwrap_or_default();
            failed(format!("partition {partition} not made within {limit} s: {trouble}{before}"))
        }
        Err(Stop::Failed(reason)) => failed(reason),
    }
}

/// The part of a recorded intent that can change.
#[derive(Clone, PartialEq, Eq)]
struct Intent {
    /// The directory of the files.
    directory: Option<Arc<Path>>,
    /// The number of create calls without an answer.
    unanswered: u32,
}

/// One create under way.
struct Create<'a, W: Environment> {
    shared: &'a Rc<SharedState<W>>,
    /// The Pod as configured when the create began, or as configured now, if a new configuration ended a
    /// trouble.
    pod: Rc<PodInUse<W::Controller>>,
    /// Held until the controller has done its part.
    slot: Option<OwnedSemaphorePermit>,
    tracked: &'a Rc<Tracked>,
    claim: &'a Claim,
    deadline: CreateDeadline,
    /// The create got its slot.
    has_begun: bool,
    /// The place in the order of first create calls.
    place: Option<PlaceInQueue>,
    /// The recorded intent, once it is on record.
    intent: Option<Intent>,
    /// The way to the partition, as far as is known by now.
    start: Start,
    /// The partition is to be reset first.
    reset: bool,
    /// The controller may have the partition, so the create looks for it before it asks.
    may_exist: bool,
    /// The text for the case that time runs out.
    trouble: Cow<'static, str>,
    /// The progress texts for users.
    progress: &'a CreateProgress<'a>,
}

impl<W: Environment> Create<'_, W> {
    async fn run(&mut self) -> Result<(), Stop> {
        self.all_well().await?;
        // Acquiring fails only on a closed semaphore, and this one is never closed.
        self.slot = self.deadline.hold(Arc::clone(&self.pod.slots).acquire_owned()).await?.ok();
        self.has_begun = true;
        self.place = Some(self.pod.next_place());
        // The check comes before our own intent replaces another's in the journal.
        self.id_is_good()?;
        self.tracked.home.replace(Some(self.claim.pod()));
        if !self.may_exist {
            // The check comes before the intent. With an intent, anything left by a lost reply or a crash
            // counts as ours.
            self.tries(Self::id_is_free).await?;
        }
        self.tracked.fileless.set(!self.may_exist);
        self.tries(Self::attempt).await?;
        failpoints::hold!("files_written");
        settle(self.shared, self.tracked, self.claim);
        Ok(())
    }

    /// Waits until no resource that all jobs need is in trouble. A new configuration may end the trouble.
    async fn all_well(&mut self) -> Result<(), Stop> {
        loop {
            let seen = self.shared.news().count();
            let needs = self.shared.needs(&self.pod);
            self.deadline.minds(&needs);
            if needs.iter().all(|need| need.is_well()) {
                return Ok(());
            }
            let before = self.pod.settings.ipuof_dir.clone();
            self.reconfigured();
            if self.pod.settings.ipuof_dir != before {
                continue;
            }
            self.deadline.hold(self.shared.news().after(seen)).await?;
        }
    }

    /// Adopts the configuration in force, unless that would take away files that the job was promised.
    fn reconfigured(&mut self) {
        let has_files = |pod: &PodInUse<_>| pod.settings.ipuof_dir.is_some();
        if let Ok(now) = self.shared.pod(self.claim)
            && has_files(&now) == has_files(&self.pod)
        {
            self.pod = now;
        }
    }

    async fn attempt(&mut self) -> Result<(), Setback> {
        self.all_well().await?;
        self.id_is_good()?;
        self.reset_first().await?;
        self.put_on_record().await?;
        let place = self.place.take();
        let is_found = self.may_exist && self.found().await?;
        if !is_found {
            self.start = Start::Anew;
            if let Some(place) = &place {
                self.deadline.hold(place.reached()).await?;
            }
            self.call().await?;
        }
        drop(place);
        let took = self.active().await?;
        if !is_found {
            self.pod.usual_create.set(Some(took));
        }
        failpoints::hold!("active");
        // Another slurmctld may have taken over meanwhile, and launches the job then.
        let shared = Rc::clone(self.shared);
        let claim = self.claim;
        let in_charge = async {
            shared.in_charge(claim).await;
            Ok(())
        };
        tokio::try_join!(self.described(), in_charge).map(drop)
    }

    /// Gives tasks the controller's description of the partition.
    async fn described(&mut self) -> Result<(), Setback> {
        self.trouble = "the controller has not given its IPUoF configuration".into();
        let config = self.deadline.hold(self.pod.controller.ipuof_config(self.on_controller())).await??;
        // The controller has done its part. A file system that hangs must not hold up other creates.
        self.slot = None;
        match self.pod.settings.ipuof_dir.clone() {
            Some(directory) => self.files(directory, config).await,
            None => {
                self.tracked.fileless.set(false);
                Ok(())
            }
        }
    }

    /// Whether an earlier call left a usable partition. An unusable one is removed.
    async fn found(&mut self) -> Result<bool, Setback> {
        let state = self.status().await?;
        // A controller may show a partition that it never had as removed.
        if !matches!(state, PartitionState::Absent | PartitionState::Removed) {
            self.tracked.calls.seen();
        }
        match state {
            PartitionState::Pending | PartitionState::Active | PartitionState::Resetting => return Ok(true),
            _ if self.tracked.stays.get() => {
                return Err(self.not_given(&format!("it is {state:?}")).into());
            }
            PartitionState::Absent => {}
            PartitionState::Failed(_) => {
                self.still_in_charge().await?;
                remove::call(&self.pod, self.tracked, &self.claim.partition).await?;
                self.gone().await?;
            }
            PartitionState::Removing | PartitionState::Removed => self.gone().await?,
        }
        self.may_exist = false;
        Ok(false)
    }

    async fn gone(&self) -> Result<(), Setback> {
        let gone = remove::confirm_gone(&self.pod, &self.claim.partition);
        self.deadline
            .hold(gone)
            .await?
            .map_err(|words| Setback::Again(words.into(), Counts::IfOthersAreAnswered))
    }

    /// Waits until the partition is active. Returns how long that took.
    async fn active(&mut self) -> Result<Duration, Setback> {
        let began = Instant::now();
        self.trouble = "the controller has not said how far it is".into();
        loop {
            self.trouble = match self.status().await? {
                PartitionState::Active => return Ok(began.elapsed()),
                PartitionState::Pending => "the controller is still making it".into(),
                PartitionState::Resetting => "the controller is still resetting it after an error".into(),
                PartitionState::Absent => return Err(self.again("it vanished while being made")),
                PartitionState::Removing | PartitionState::Removed => {
                    return Err(self.again("somebody is removing it"));
                }
                PartitionState::Failed(words) => {
                    return Err(self.again(&format!("it went into error: {words}")));
                }
            };
            self.deadline.pause(poll_pause(began.elapsed(), self.pod.usual_create.get())).await?;
        }
    }

    async fn status(&self) -> Result<PartitionState, Setback> {
        Ok(self.deadline.hold(self.pod.status(self.on_controller())).await??)
    }

    fn on_controller(&self) -> &PartitionId {
        self.pod.on_controller(self.tracked, &self.claim.partition)
    }

    fn again(&self, words: &str) -> Setback {
        Setback::Again(format!("controller {}: {words}", self.pod.controller.name()).into(), Counts::Always)
    }
}
