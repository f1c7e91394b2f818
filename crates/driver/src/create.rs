//! Making a partition: journal, call, poll, configuration, files, journal.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::sync::SemaphorePermit;
use tokio::task::spawn_local;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::lane::{Lane, Owner};
use crate::pace::{Backoff, poll_pause};
use crate::patience::{Patience, Stop};
use crate::pod::{Pod, Turn};
use crate::remove::confirm_gone;
use crate::shop::Shop;
use crate::{CallError, Controller, CreateRequest, Entry, Failure, Files, PartitionState, World};

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(10);

type Config<W> = <<W as World>::Controller as Controller>::Config;

/// Makes the partition of `claim` and says how that ended: Up, CreateFailed or CreateCancelled.
pub(crate) async fn create<W: World>(
    shop: &Rc<Shop<W>>,
    lane: &Rc<Lane>,
    claim: &Claim,
    cancel: CancellationToken,
) -> Event {
    let began = Instant::now();
    let (partition, run) = (claim.partition.clone(), claim.run);
    let failed = |reason: String| {
        tracing::warn!("{run} cannot start: {reason}");
        Event::CreateFailed { partition: claim.partition.clone(), reason }
    };
    if lane.owner.get() == Owner::Unknown {
        lane.owner.set(Owner::Others);
    }
    let pod = match shop.pod(claim) {
        Ok(pod) => pod,
        Err(why) => return failed(why),
    };
    // Acquiring could fail on a closed semaphore only, and nobody closes it.
    let Some(Ok(slot)) = cancel.run_until_cancelled(pod.slots.acquire()).await else {
        return Event::CreateCancelled(partition);
    };
    let limit = pod.settings.create_timeout;
    let mut create = Create {
        shop,
        pod: &pod,
        lane,
        claim,
        patience: Patience::new(cancel, limit),
        turn: Some(pod.turn()),
        may_exist: lane.owner.get() == Owner::Us,
        trouble: Cow::Borrowed(""),
    };
    let made = create.run(slot).await;
    if lane.owner.get() == Owner::Others {
        // Nothing came of the intent: nobody shall remove a partition of others because of it.
        shop.note(Entry::Gone(partition.clone()), claim).await;
    }
    match made {
        Ok(()) => {
            let (size, seconds) = (claim.size, began.elapsed().as_secs_f64());
            tracing::info!("partition {partition} of {size} IPUs made in {seconds:.3} s for {run}");
            Event::Up(partition)
        }
        Err(Stop::Cancelled) => Event::CreateCancelled(partition),
        Err(Stop::TimedOut) => {
            failed(format!("partition {partition} not made within {} s: {}", limit.as_secs(), create.trouble))
        }
        Err(Stop::Failed(reason)) => failed(reason),
    }
}

/// One create under way.
struct Create<'a, W: World> {
    shop: &'a Rc<Shop<W>>,
    pod: &'a Pod<W::Controller>,
    lane: &'a Rc<Lane>,
    claim: &'a Claim,
    patience: Patience,
    /// When to ask for it the first time.
    turn: Option<Turn>,
    /// The controller may have the partition: look before asking for it.
    may_exist: bool,
    /// What to say when time runs out.
    trouble: Cow<'static, str>,
}

/// Why a try ended without the partition.
enum Setback {
    /// Another try may do better.
    Again(Cow<'static, str>),
    /// None would.
    Stop(Stop),
}

impl From<Stop> for Setback {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<CallError> for Setback {
    fn from(error: CallError) -> Self {
        Self::Again(error.message.into())
    }
}

impl<W: World> Create<'_, W> {
    async fn run(&mut self, slot: SemaphorePermit<'_>) -> Result<(), Stop> {
        let partition = &self.claim.partition;
        let directory = Arc::clone(&self.pod.settings.ipuof_dir);
        self.lane.fileless.set(!self.may_exist);
        self.lane.directory.replace(Some(Arc::clone(&directory)));
        self.trouble = "the journal is still being written".into();
        let intent = Entry::Create { claim: self.claim.clone(), ipuof_dir: directory.to_path_buf() };
        let recorded = self.patience.hold(self.shop.record(intent)).await?;
        recorded.map_err(|error| Stop::Failed(format!("partition {partition} not made: {error}")))?;

        self.shop.world.report(Event::CreateStarted(partition.clone()));
        let config = self.partition().await?;
        // The controller has done its part: files that hang must not keep others from theirs.
        drop(slot);
        self.files(config).await?;
        self.shop.note(Entry::Created(partition.clone()), self.claim).await;
        Ok(())
    }

    /// Tries until the partition is active and its configuration known.
    async fn partition(&mut self) -> Result<Config<W>, Stop> {
        let mut backoff = Backoff::new(self.claim.partition.as_str(), RETRY_CAP);
        loop {
            self.trouble = match self.attempt().await {
                Ok(config) => return Ok(config),
                Err(Setback::Stop(stop)) => return Err(stop),
                Err(Setback::Again(trouble)) => trouble,
            };
            let pause = backoff.next_pause();
            if backoff.worth_a_line() {
                let (run, tries, trouble) = (self.claim.run, backoff.tries(), &self.trouble);
                tracing::warn!("{run}: try {tries}: {trouble}; trying again");
            }
            self.patience.pause(pause).await?;
        }
    }

    async fn attempt(&mut self) -> Result<Config<W>, Setback> {
        let turn = self.turn.take();
        if !(self.may_exist && self.found().await?) {
            if let Some(turn) = &turn {
                self.patience.hold(turn.come()).await?;
            }
            self.call().await?;
        }
        drop(turn);
        self.active().await?;
        self.trouble = "the controller has not given its IPUoF configuration".into();
        Ok(self.patience.hold(self.pod.controller.ipuof_config(&self.claim.partition)).await??)
    }

    /// Whether an earlier call left a partition that may do; one that will not is cleared away.
    async fn found(&mut self) -> Result<bool, Setback> {
        let (controller, partition) = (&self.pod.controller, &self.claim.partition);
        match self.status().await? {
            PartitionState::Pending | PartitionState::Active | PartitionState::Resetting => return Ok(true),
            PartitionState::Absent => {}
            PartitionState::Failed(_) => {
                controller.remove(partition, self.pod.settings.force_remove).await?;
                self.gone().await?;
            }
            PartitionState::Removing => self.gone().await?,
        }
        self.may_exist = false;
        Ok(false)
    }

    async fn gone(&self) -> Result<(), Setback> {
        let gone = confirm_gone(&self.pod.controller, &self.claim.partition, self.pod.settings.force_remove);
        self.patience.hold(gone).await?.map_err(|words| Setback::Again(words.into()))
    }

    /// Asks for the partition. The call is seen through to its end, whoever loses patience meanwhile:
    /// a remove must not overtake it.
    async fn call(&mut self) -> Result<(), Setback> {
        let settings = &self.pod.settings;
        let request = CreateRequest {
            partition: &self.claim.partition,
            size: self.claim.size,
            domain_size: settings.domain_size,
            reconfigurable: settings.reconfigurable,
            ipus: &self.claim.ipus,
            cluster: settings.cluster.as_deref(),
            allocation: settings.allocation.as_deref(),
        };
        let Err(error) = self.pod.controller.create(&request).await else {
            self.look_first();
            return Ok(());
        };
        match error.failure {
            Failure::Refused => return Err(Stop::Failed(error.message).into()),
            Failure::Exists if self.lane.owner.get() == Owner::Us => {
                self.look_first();
                return Ok(());
            }
            Failure::Exists => {
                let advice = "this cluster did not make it: have it removed, or set another PartitionPrefix";
                return Err(Stop::Failed(format!("{error}; {advice}")).into());
            }
            // No job is at fault for that: the survey holds back the others, and this one has its CreateTimeout.
            Failure::Stranger => drop(self.shop.survey(&self.claim.pod())),
            Failure::NoRoom => {
                self.shop.world.report(Event::NoRoom(self.claim.partition.clone()));
                self.shop.survey(&self.claim.pod());
            }
            Failure::Unclear => {
                self.shop.survey(&self.claim.pod());
                self.look_first();
                self.lane.create_unanswered();
            }
        }
        Err(error.into())
    }

    fn look_first(&mut self) {
        self.may_exist = true;
        self.lane.owner.set(Owner::Us);
    }

    /// Waits until the partition is active.
    async fn active(&mut self) -> Result<(), Setback> {
        let began = Instant::now();
        self.trouble = "the controller has not said how far it is".into();
        loop {
            self.trouble = match self.status().await? {
                PartitionState::Active => {
                    self.pod.usual_create.set(Some(began.elapsed()));
                    return Ok(());
                }
                PartitionState::Pending => "the controller is still making it".into(),
                PartitionState::Resetting => "the controller is still resetting it after an error".into(),
                PartitionState::Absent => return Err(self.again("it vanished while being made")),
                PartitionState::Removing => return Err(self.again("somebody is removing it")),
                PartitionState::Failed(words) => {
                    return Err(self.again(&format!("it went into error: {words}")));
                }
            };
            self.patience.pause(poll_pause(began.elapsed(), self.pod.usual_create.get())).await?;
        }
    }

    async fn status(&self) -> Result<PartitionState, Setback> {
        Ok(self.patience.hold(self.pod.controller.status(&self.claim.partition)).await??)
    }

    fn again(&self, words: &str) -> Setback {
        Setback::Again(format!("controller {}: {words}", self.pod.controller.name()).into())
    }

    /// Writes the IPUoF files. When patience ends, the writing goes on by itself, and holds up only
    /// who wants to delete the same files.
    async fn files(&mut self, config: Config<W>) -> Result<(), Stop> {
        let directory = Arc::clone(&self.pod.settings.ipuof_dir);
        self.trouble = format!("its IPUoF files are still being written to {}", directory.display()).into();
        let (shop, lane, claim) = (Rc::clone(self.shop), Rc::clone(self.lane), self.claim.clone());
        let writing = spawn_local(async move {
            let _alone = lane.files.lock().await;
            lane.fileless.set(false);
            let written = shop.world.files().deliver(&directory, &claim, config).await;
            lane.fileless.set(written.is_err());
            written
        });
        match self.patience.hold(writing).await? {
            Ok(written) => written.map_err(|error| Stop::Failed(format!("no IPUoF file: {error}"))),
            Err(broken) => Err(Stop::Failed(format!("no IPUoF file: {broken}"))),
        }
    }
}
