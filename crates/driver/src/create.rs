//! The create of a partition: journal, call, poll, configuration, files, journal.

mod call;
mod files;
mod on_controller;
mod tries;
mod wait_for_consent;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, Words, words};

use crate::call_failure::Counts;
use crate::create_deadline::{self, CreateDeadline, Stop};
use crate::create_progress::CreateProgress;
use crate::durable_files::make_durable;
use crate::pod_in_use::{PlaceInQueue, PodInUse};
use crate::shared_state::SharedState;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{CallError, Controller, Environment, Journal};

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
    deadline.minds(&shared.resources.needs(pod.settings.ipuof_dir.as_ref()));
    deadline
}

/// The answer for a create that ended before its turn. It says nothing about the job.
pub(crate) fn not_begun(claim: &Claim, deadline: &CreateDeadline, stop: &Stop) -> Event {
    let partition = claim.partition.clone();
    let reason = match stop {
        Stop::Cancelled => return Event::CreateCancelled(partition),
        Stop::PutOff(reason) => reason.clone(),
        _ => words!(
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
    if !shared.environment.journal().is_complete() {
        return failed(claim, "the journal cannot be read, see slurmctld's log".into());
    }
    let pod = match shared.pod(claim) {
        Ok(pod) => pod,
        Err(why) => return failed(claim, why),
    };
    let partition = &claim.partition;
    if tracked.owner.get() == PartitionOwner::Unknown {
        let stays = pod.settings.stays(partition);
        tracked.stays.set(stays);
        tracked.owner.set(if stays { PartitionOwner::Ours } else { PartitionOwner::Others });
    }
    let is_ours = tracked.owner.get() == PartitionOwner::Ours;
    let presence = match start {
        Start::Reuse { before: None, .. } if !tracked.stays.get() => {
            let reason = words!("partition {partition} is not in the pool any more");
            return Event::CreatePutOff { partition: partition.clone(), reason };
        }
        // A run on record had its reset, and may have processes on the partition.
        Start::Reuse { before, reset } => {
            Presence::Idle { before, reset: reset && !tracked.is_on_record(claim.run) }
        }
        Start::Anew if is_ours => Presence::MayExist,
        Start::Anew => Presence::Absent,
    };
    let progress = CreateProgress::new(claim, pod.observed.usual.create(claim.size));
    let mut create = Create {
        shared,
        pod,
        tracked,
        claim,
        deadline,
        slot: None,
        place: None,
        intent: None,
        presence,
        trouble: "".into(),
        progress: &progress,
    };
    tokio::select! {
        biased;
        never = progress.announce(&*shared.environment) => match never {},
        never = progress.announce_trouble(shared) => match never {},
        answer = create.run() => answer,
    }
}

fn failed(claim: &Claim, reason: Words) -> Event {
    let run = claim.run;
    match run.has_begun() {
        true => tracing::warn!("{run} cannot start: {reason}"),
        false => tracing::warn!("{run} is not prepared, and starts like others: {reason}"),
    }
    Event::CreateFailed { partition: claim.partition.clone(), reason }
}

/// What a create knows of its partition on the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// It is not there, so it is asked for.
    Absent,
    /// A call of this cluster may have made it, so the create looks for it before it asks.
    MayExist,
    /// It was idle, and is given to the claim if it is found.
    Idle {
        /// The last run that had it, as far as is known.
        before: Option<JobRun>,
        /// Whether it is to be reset first.
        reset: bool,
    },
}

/// The reason why a try ended without the partition.
enum Setback {
    /// Another try may succeed.
    Again(Words, Counts),
    /// Another try will succeed, once a resource that all jobs need is out of trouble.
    Trouble(Words),
    /// The controller refuses all jobs.
    RefusesAll(Words),
    /// No try would succeed.
    Stop(Stop),
}

impl From<Stop> for Setback {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<CallError> for Setback {
    fn from(error: CallError) -> Self {
        Self::Again(error.message, error.failure.counts())
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
    tracked: &'a Rc<Tracked>,
    claim: &'a Claim,
    deadline: CreateDeadline,
    /// Held from the turn of the create until the controller has done its part.
    slot: Option<OwnedSemaphorePermit>,
    /// The place in the order of first create calls. Held from the turn of the create until its first call is answered.
    place: Option<PlaceInQueue>,
    /// The recorded intent, once it is on record.
    intent: Option<Intent>,
    presence: Presence,
    /// The text for the case that time runs out.
    trouble: Words,
    /// The progress texts for users.
    progress: &'a CreateProgress<'a>,
}

impl<W: Environment> Create<'_, W> {
    async fn run(&mut self) -> Event {
        if let Err(stop) = self.turn().await {
            return not_begun(self.claim, &self.deadline, &stop);
        }
        match self.make().await {
            Ok(()) => self.made(),
            Err(stop) => self.not_made(stop),
        }
    }

    /// Waits until the controller may get another create.
    async fn turn(&mut self) -> Result<(), Stop> {
        self.all_well().await?;
        // Acquiring fails only on a closed semaphore, and this one is never closed.
        self.slot = self.deadline.hold(Arc::clone(&self.pod.slots).acquire_owned()).await?.ok();
        self.place = Some(self.pod.next_place());
        Ok(())
    }

    async fn make(&mut self) -> Result<(), Stop> {
        // The check comes before our own intent replaces another's in the journal.
        self.id_is_good()?;
        self.tracked.home.replace(Some(self.claim.pod()));
        let is_ours = self.tracked.owner.get() == PartitionOwner::Ours;
        if !is_ours {
            // The check comes before the intent. With an intent, anything left by a lost reply or a crash
            // counts as ours.
            self.tries(Self::id_is_free).await?;
        }
        self.tracked.fileless.set(!is_ours);
        self.tries(Self::attempt).await?;
        failpoints::hold!("files_written");
        make_durable(self.shared, self.tracked, self.claim);
        Ok(())
    }

    fn made(&self) -> Event {
        let Claim { partition, size, run, .. } = self.claim;
        let took = self.progress.elapsed();
        let made = match self.presence {
            Presence::Idle { before, .. } => {
                self.pod.controller.reused(partition, before, took);
                "reused"
            }
            Presence::Absent | Presence::MayExist => "made",
        };
        let seconds = took.as_secs_f64();
        tracing::info!("partition {partition} of {size} IPUs {made} in {seconds:.3} s for {run}");
        Event::Up(partition.clone())
    }

    fn not_made(&self, stop: Stop) -> Event {
        let Claim { partition, run, .. } = self.claim;
        let reason = match stop {
            Stop::Cancelled => return Event::CreateCancelled(partition.clone()),
            Stop::Failed(reason) => return failed(self.claim, reason),
            Stop::TimedOut => {
                let (limit, trouble) = (self.deadline.seconds(), &*self.trouble);
                let before = self.progress.setback().filter(|setback| !setback.ends_with(trouble));
                let before = before.map(|setback| format!("; before: {setback}")).unwrap_or_default();
                let reason = words!("partition {partition} not made within {limit} s: {trouble}{before}");
                return failed(self.claim, reason);
            }
            Stop::IdSpent => {
                let reason = words!(
                    "partition {partition} is not made: a call that was sent for this id before may still take effect; \
                     another id is used the next time"
                );
                tracing::warn!("{run}: {reason}");
                reason
            }
            Stop::PutOff(reason) => {
                tracing::warn!("{run}: {reason}; it goes back into the line");
                reason
            }
        };
        Event::CreatePutOff { partition: partition.clone(), reason }
    }

    /// Waits until no resource that all jobs need is in trouble. A new configuration may end the trouble.
    async fn all_well(&mut self) -> Result<(), Stop> {
        loop {
            let seen = self.shared.resources.news().count();
            let needs = self.shared.resources.needs(self.pod.settings.ipuof_dir.as_ref());
            self.deadline.minds(&needs);
            if needs.iter().all(|need| need.is_well()) {
                return Ok(());
            }
            let before = self.pod.settings.ipuof_dir.clone();
            self.reconfigured();
            if self.pod.settings.ipuof_dir != before {
                continue;
            }
            self.deadline.hold(self.shared.resources.news().after(seen)).await?;
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
        let is_found = self.found().await?;
        if !is_found {
            if let Some(place) = &place {
                self.deadline.hold(place.reached()).await?;
            }
            self.call().await?;
        }
        drop(place);
        let took = self.active().await?;
        if !is_found {
            self.pod.observed.usual.created(self.claim.size, took);
        }
        failpoints::hold!("active");
        // Another slurmctld may have taken over meanwhile, and launches the job then.
        let shared = Rc::clone(self.shared);
        let claim = self.claim;
        let in_charge = async {
            shared.resources.in_charge(claim).await;
            Ok(())
        };
        tokio::try_join!(self.described(), in_charge).map(drop)
    }
}
