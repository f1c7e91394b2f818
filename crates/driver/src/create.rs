//! Making a partition: journal, call, poll, configuration, files, journal.

mod same_id;

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::sync::SemaphorePermit;
use tokio::task::spawn_local;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::announce::Progress;
use crate::lane::{Lane, Owner};
use crate::pace::{Backoff, poll_pause};
use crate::patience::{self, Patience, Stop};
use crate::pod::{Pod, Turn};
use crate::remove::confirm_gone;
use crate::shop::Shop;
use crate::{CallError, Controller, CreateRequest, Entry, Failure, Files, Journal, PartitionState, World};

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
        match run.has_begun() {
            true => tracing::warn!("{run} cannot start: {reason}"),
            false => tracing::warn!("{run} is not prepared, and starts like others: {reason}"),
        }
        Event::CreateFailed { partition: claim.partition.clone(), reason }
    };
    if !shop.world.journal().is_complete() {
        return failed("the journal cannot be read, see slurmctld's log".into());
    }
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
    let limit = patience::limit(claim.run, pod.settings.create_timeout);
    let progress = Progress::new(claim, pod.usual_create.get());
    let mut create = Create {
        shop,
        pod: &pod,
        lane,
        claim,
        patience: Patience::new(cancel, limit),
        turn: Some(pod.turn()),
        may_exist: lane.owner.get() == Owner::Run(run),
        is_unanswered: lane.unanswered.get() > 0,
        anothers_calls: 0,
        trouble: Cow::Borrowed(""),
        progress: &progress,
    };
    let made = tokio::select! {
        biased;
        never = progress.announce(&shop.world) => match never {},
        made = create.run(slot) => made,
    };
    match made {
        Ok(()) => {
            let (size, seconds) = (claim.size, began.elapsed().as_secs_f64());
            tracing::info!("partition {partition} of {size} IPUs made in {seconds:.3} s for {run}");
            Event::Up(partition)
        }
        Err(Stop::Cancelled) => Event::CreateCancelled(partition),
        Err(Stop::TimedOut) => {
            let (limit, trouble) = (limit.as_secs(), create.trouble);
            let before = progress.setback().filter(|setback| !setback.ends_with(&*trouble));
            let before = before.map(|setback| format!("; before: {setback}")).unwrap_or_default();
            failed(format!("partition {partition} not made within {limit} s: {trouble}{before}"))
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
    /// The last create call was not answered, and its effect not seen.
    is_unanswered: bool,
    /// Of the calls that were never answered, those for an earlier run of this id.
    anothers_calls: u32,
    /// What to say when time runs out.
    trouble: Cow<'static, str>,
    /// For who waits.
    progress: &'a Progress<'a>,
}

/// Why a try ended without the partition.
enum Setback {
    /// Another try may do better.
    Again(Cow<'static, str>, Blame),
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
        let blame = match error.failure {
            Failure::NoRoom | Failure::Stranger => Blame::Nobody,
            Failure::Refused | Failure::Exists | Failure::Unclear => Blame::Unclear,
        };
        Self::Again(error.message.into(), blame)
    }
}

/// What a setback says of the partition: one that fails again and again is given up.
#[derive(Clone, Copy)]
enum Blame {
    /// There is something wrong with it.
    Partition,
    /// That, unless its controller fails everybody.
    Unclear,
    /// Nothing: others have the IPUs, or the controller does not know us.
    Nobody,
}

impl<W: World> Create<'_, W> {
    async fn run(&mut self, slot: SemaphorePermit<'_>) -> Result<(), Stop> {
        let partition = &self.claim.partition;
        let directory = self.pod.settings.ipuof_dir.clone();
        let is_of_another = self.lane.is_of_another(self.claim.run);
        if is_of_another {
            // Before our own intent takes the place of the other's in the journal.
            self.tries(Self::clear_away).await?;
        }
        self.lane.move_to(self.claim.pod());
        self.anothers_calls = if is_of_another { self.lane.unanswered.get() } else { 0 };
        if !self.may_exist {
            // Before there is an intent: with it, what a lost reply or a crash leaves is taken for ours.
            self.tries(Self::id_is_free).await?;
        }
        self.lane.fileless.set(!self.may_exist);
        self.move_to(directory.as_ref()).await?;
        self.trouble = "the journal is still being written".into();
        let intent = Entry::Create {
            claim: self.claim.clone(),
            ipuof_dir: directory.as_deref().map(Path::to_path_buf),
        };
        self.lane.recorded.set(true);
        let recorded = self.patience.hold(self.shop.record(intent)).await?;
        recorded.map_err(|error| Stop::Failed(format!("partition {partition} not made: {error}")))?;
        failpoints::hold!("intent");

        self.shop.world.report(Event::CreateStarted(partition.clone()));
        let config = self.tries(Self::attempt).await?;
        // The controller has done its part: files that hang must not keep others from theirs.
        drop(slot);
        match directory {
            Some(directory) => self.files(directory, config).await?,
            None => self.lane.fileless.set(false),
        }
        failpoints::hold!("files_written");
        // A partition that was up is not watched for by who comes after: a call that was never answered is to be.
        if self.lane.unanswered.get() == 0 {
            self.shop.note(Entry::Created(partition.clone()), self.claim).await;
        }
        Ok(())
    }

    /// Has the files written there from now on. What an earlier slurmctld wrote elsewhere, before configuration changed,
    /// is deleted: the record knows one place.
    async fn move_to(&mut self, directory: Option<&Arc<Path>>) -> Result<(), Stop> {
        let earlier = self.lane.directory.borrow().clone();
        if let Some(earlier) = earlier.filter(|earlier| self.may_exist && Some(earlier) != directory) {
            self.trouble = format!("its IPUoF files in {} are still there", earlier.display()).into();
            let files = async {
                let _alone = self.lane.files.lock().await;
                self.shop.world.files().withdraw(&earlier, self.claim).await
            };
            let withdrawn = self.patience.hold(files).await?;
            withdrawn.map_err(|error| Stop::Failed(format!("an IPUoF file cannot be deleted: {error}")))?;
        }
        self.lane.directory.replace(directory.cloned());
        Ok(())
    }

    /// Tries until it succeeds, or failed too often.
    async fn tries<T>(
        &mut self,
        mut attempt: impl AsyncFnMut(&mut Self) -> Result<T, Setback>,
    ) -> Result<T, Stop> {
        let mut backoff = Backoff::new(self.claim.partition.as_str(), RETRY_CAP);
        let mut failures = 0;
        loop {
            let (trouble, blame) = match attempt(self).await {
                Ok(done) => return Ok(done),
                Err(Setback::Stop(stop)) => return Err(stop),
                Err(Setback::Again(trouble, blame)) => (trouble, blame),
            };
            self.trouble = trouble;
            if matches!(blame, Blame::Unclear) {
                self.shop.survey(&self.claim.pod());
            }
            let pause = backoff.next_pause();
            self.progress.failed(backoff.tries(), &self.trouble);
            if backoff.worth_a_line() {
                let (run, tries, trouble) = (self.claim.run, backoff.tries(), &self.trouble);
                tracing::warn!("{run}: try {tries}: {trouble}; trying again");
                self.shop.world.tell(run, self.progress.line());
            }
            self.patience.pause(pause).await?;
            // The survey has had that time to tell whether others fare better.
            failures += u32::from(match blame {
                Blame::Partition => true,
                Blame::Unclear => self.pod.answers.get(),
                Blame::Nobody => false,
            });
            if failures > self.pod.settings.max_retries {
                let (partition, trouble) = (&self.claim.partition, &self.trouble);
                return Err(Stop::Failed(format!(
                    "partition {partition} failed {failures} times: {trouble}"
                )));
            }
        }
    }

    async fn attempt(&mut self) -> Result<Config<W>, Setback> {
        let turn = self.turn.take();
        let is_found = self.may_exist && self.found().await?;
        if !is_found {
            if let Some(turn) = &turn {
                self.patience.hold(turn.come()).await?;
            }
            self.call().await?;
        }
        drop(turn);
        let took = self.active().await?;
        if !is_found {
            self.pod.usual_create.set(Some(took));
        }
        failpoints::hold!("active");
        self.trouble = "the controller has not given its IPUoF configuration".into();
        Ok(self.patience.hold(self.pod.controller.ipuof_config(&self.claim.partition)).await??)
    }

    /// Whether an earlier call left a partition that may do; one that will not is cleared away.
    async fn found(&mut self) -> Result<bool, Setback> {
        let (controller, partition) = (&self.pod.controller, &self.claim.partition);
        let state = self.status().await?;
        let is_ours = !(self.is_unanswered && self.is_contested());
        if state != PartitionState::Absent {
            self.effect_seen();
        }
        match state {
            PartitionState::Pending | PartitionState::Active | PartitionState::Resetting if is_ours => {
                return Ok(true);
            }
            PartitionState::Absent => {}
            PartitionState::Failed(_)
            | PartitionState::Pending
            | PartitionState::Active
            | PartitionState::Resetting => {
                self.still_in_charge().await?;
                controller.remove(partition, self.pod.settings.force_remove).await?;
                self.gone(self.pod).await?;
            }
            PartitionState::Removing => self.gone(self.pod).await?,
        }
        self.may_exist = false;
        Ok(false)
    }

    async fn gone(&self, pod: &Pod<W::Controller>) -> Result<(), Setback> {
        let gone = confirm_gone(&pod.controller, &self.claim.partition, pod.settings.force_remove);
        self.patience.hold(gone).await?.map_err(|words| Setback::Again(words.into(), Blame::Unclear))
    }

    /// Asks for the partition. The call is seen through to its end, whoever loses patience meanwhile:
    /// a remove must not overtake it.
    async fn call(&mut self) -> Result<(), Setback> {
        let settings = &self.pod.settings;
        let request = CreateRequest {
            partition: &self.claim.partition,
            size: self.claim.size,
            domain_size: settings.domain_size,
            shape: self.claim.shape.by_site(settings.reconfigurable),
            ipus: &self.claim.ipus,
            cluster: settings.cluster.as_deref(),
            allocation: settings.allocation.as_deref(),
        };
        // Until the answer is known: should this program break meanwhile, what the call made must be removed.
        let before = self.lane.owner.replace(Owner::Run(self.claim.run));
        let Err(error) = self.pod.controller.create(&request).await else {
            // This call's effect is what will be seen, not that of one before it.
            self.is_unanswered = false;
            failpoints::hold!("create_acknowledged");
            self.look_first();
            return Ok(());
        };
        self.lane.owner.set(before);
        match error.failure {
            Failure::Refused => return Err(Stop::Failed(error.message).into()),
            Failure::Exists if self.is_contested() => self.clear_away().await?,
            Failure::Exists if self.lane.owner.get() == Owner::Run(self.claim.run) => {
                self.effect_seen();
                self.look_first();
                return Ok(());
            }
            Failure::Exists => return Err(self.is_of_others(&error.cause).into()),
            // No job is at fault for that: the survey holds back the others, and this one has its CreateTimeout.
            Failure::Stranger => drop(self.shop.survey(&self.claim.pod())),
            Failure::NoRoom => {
                self.shop.world.report(Event::NoRoom(self.claim.partition.clone()));
                self.shop.survey(&self.claim.pod());
            }
            Failure::Unclear => {
                self.look_first();
                self.is_unanswered = true;
                self.lane.unanswered.update(|calls| calls + 1);
            }
        }
        Err(error.into())
    }

    /// The partition is there: what the last create call was sent for, if it was not answered.
    fn effect_seen(&mut self) {
        if std::mem::take(&mut self.is_unanswered) {
            self.lane.unanswered.update(|calls| calls.saturating_sub(1));
        }
    }

    fn look_first(&mut self) {
        self.may_exist = true;
        self.lane.owner.set(Owner::Run(self.claim.run));
    }

    /// Waits until the partition is active; says for how long.
    async fn active(&mut self) -> Result<Duration, Setback> {
        let began = Instant::now();
        self.trouble = "the controller has not said how far it is".into();
        loop {
            self.trouble = match self.status().await? {
                PartitionState::Active => return Ok(began.elapsed()),
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
        Setback::Again(format!("controller {}: {words}", self.pod.controller.name()).into(), Blame::Partition)
    }

    /// Writes the IPUoF files. When patience ends, the writing goes on by itself, and holds up only
    /// who wants to delete the same files.
    async fn files(&mut self, directory: Arc<Path>, config: Config<W>) -> Result<(), Stop> {
        self.trouble = format!("its IPUoF files are still being written to {}", directory.display()).into();
        let (shop, lane, claim) = (Rc::clone(self.shop), Rc::clone(self.lane), self.claim.clone());
        let writing = spawn_local(async move {
            let _alone = lane.files.lock().await;
            // An earlier slurmctld may have written some: who cannot write may not be able to take those back.
            let none_before = lane.fileless.replace(false);
            let written = shop.world.files().deliver(&directory, &claim, config).await;
            lane.fileless.set(none_before && written.is_err());
            written
        });
        match self.patience.hold(writing).await? {
            Ok(written) => written.map_err(|error| Stop::Failed(format!("no IPUoF file: {error}"))),
            Err(broken) => Err(Stop::Failed(format!("no IPUoF file: {broken}"))),
        }
    }
}
