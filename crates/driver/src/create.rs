//! Making a partition: journal, call, poll, configuration, files, journal.

mod id;

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Event};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use vipu_types::PodId;

use crate::announce::Progress;
use crate::lane::{Lane, Owner};
use crate::pace::{Backoff, poll_pause};
use crate::patience::{self, Patience, Stop};
use crate::pod::{Pod, Turn};
use crate::refusals::Fault;
use crate::shared::FilesTrouble;
use crate::shop::Shop;
use crate::{
    CallError, Controller, CreateRequest, Entry, Failure, Files, Journal, PartitionState, World, remove,
};

/// The longest pause between two tries.
const RETRY_CAP: Duration = Duration::from_secs(10);

/// Between two tries on a controller that refuses whoever asks.
const REFUSED_PAUSE: Duration = Duration::from_secs(60);

type Config<W> = <<W as World>::Controller as Controller>::Config;

/// How long the partition of `claim` is tried, from now on.
pub(crate) fn patience<W: World>(shop: &Rc<Shop<W>>, claim: &Claim, cancel: CancellationToken) -> Patience {
    // Without a Pod the create ends at once.
    let Ok(pod) = shop.pod(claim) else { return Patience::new(cancel, Duration::ZERO) };
    let patience = Patience::new(cancel, patience::limit(claim.run, pod.settings.create_timeout));
    patience.minds(&shop.needs(&pod));
    patience
}

/// What is said of a create that ended before its turn came: nothing of its job.
pub(crate) fn not_begun(claim: &Claim, patience: &Patience, stop: &Stop) -> Event {
    let partition = claim.partition.clone();
    if *stop == Stop::Cancelled {
        return Event::CreateCancelled(partition);
    }
    let reason = format!(
        "partition {partition} could not be asked for within {} s: other calls are under way",
        patience.seconds()
    );
    tracing::warn!("{}: {reason}", claim.run);
    Event::CreatePutOff { partition, reason }
}

/// Makes the partition of `claim` and says how that ended: Up, CreateFailed, CreatePutOff or CreateCancelled.
pub(crate) async fn create<W: World>(
    shop: &Rc<Shop<W>>,
    lane: &Rc<Lane>,
    claim: &Claim,
    patience: Patience,
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
    let progress = Progress::new(claim, pod.usual_create.get());
    let mut create = Create {
        shop,
        pod,
        slot: None,
        lane,
        claim,
        patience,
        has_begun: false,
        turn: None,
        intent: None,
        may_exist: lane.owner.get() == Owner::Ours,
        is_unanswered: lane.unanswered.get() > 0,
        trouble: Cow::Borrowed(""),
        progress: &progress,
    };
    let made = tokio::select! {
        biased;
        never = progress.announce(&shop.world) => match never {},
        never = progress.announce_trouble(shop) => match never {},
        made = create.run() => made,
    };
    match made {
        Ok(()) => {
            let (size, seconds) = (claim.size, began.elapsed().as_secs_f64());
            tracing::info!("partition {partition} of {size} IPUs made in {seconds:.3} s for {run}");
            Event::Up(partition)
        }
        Err(Stop::Cancelled) => Event::CreateCancelled(partition),
        Err(stop) if !create.has_begun => not_begun(claim, &create.patience, &stop),
        Err(Stop::IdSpent) => {
            let reason = format!(
                "partition {partition} is not made: a call that was sent for this id before may still take effect; \
                 another id is used the next time"
            );
            tracing::warn!("{run}: {reason}");
            Event::CreatePutOff { partition, reason }
        }
        Err(Stop::TimedOut) => {
            let (limit, trouble) = (create.patience.seconds(), create.trouble);
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
    /// As it was configured when this began; or, after a trouble that was mended by configuration, as it is now.
    pod: Rc<Pod<W::Controller>>,
    /// Until the controller has done its part.
    slot: Option<OwnedSemaphorePermit>,
    lane: &'a Rc<Lane>,
    claim: &'a Claim,
    patience: Patience,
    /// It is among those that are being made at once.
    has_begun: bool,
    /// When to ask for it the first time.
    turn: Option<Turn>,
    /// The intent is on record, with this directory for its files.
    intent: Option<Option<Arc<Path>>>,
    /// The controller may have the partition: look before asking for it.
    may_exist: bool,
    /// The last create call was not answered, and its effect not seen.
    is_unanswered: bool,
    /// What to say when time runs out.
    trouble: Cow<'static, str>,
    /// For who waits.
    progress: &'a Progress<'a>,
}

/// Why a try ended without the partition.
enum Setback {
    /// Another try may do better.
    Again(Cow<'static, str>, Blame),
    /// Another will, once what all jobs need is not in trouble any more.
    Shared(Cow<'static, str>),
    /// The controller refuses whoever asks.
    RefusesAll(Cow<'static, str>),
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
            Failure::Refused | Failure::Exists | Failure::NotSent | Failure::Unclear => Blame::Unclear,
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
    async fn run(&mut self) -> Result<(), Stop> {
        self.all_well().await?;
        // Acquiring could fail on a closed semaphore only, and nobody closes it.
        self.slot = self.patience.hold(Arc::clone(&self.pod.slots).acquire_owned()).await?.ok();
        self.has_begun = true;
        self.turn = Some(self.pod.turn());
        // Before our own intent takes the place of another's in the journal.
        self.id_is_good()?;
        self.lane.home.replace(Some(self.claim.pod()));
        if !self.may_exist {
            // Before there is an intent: with it, what a lost reply or a crash leaves is taken for ours.
            self.tries(Self::id_is_free).await?;
        }
        self.lane.fileless.set(!self.may_exist);
        self.tries(Self::attempt).await?;
        failpoints::hold!("files_written");
        // A partition that was up is not watched for by who comes after: a call that was never answered is to be.
        if self.lane.unanswered.get() == 0 {
            self.shop.note(Entry::Created(self.claim.partition.clone()), self.claim).await;
        }
        Ok(())
    }

    /// Waits until nothing is in trouble that all jobs need. Who mends it may do so by another configuration.
    async fn all_well(&mut self) -> Result<(), Stop> {
        loop {
            let seen = self.shop.news().count();
            let needs = self.shop.needs(&self.pod);
            self.patience.minds(&needs);
            if needs.iter().all(|need| need.is_well()) {
                return Ok(());
            }
            let before = self.pod.settings.ipuof_dir.clone();
            self.reconfigured();
            if self.pod.settings.ipuof_dir != before {
                continue;
            }
            self.patience.hold(self.shop.news().after(seen)).await?;
        }
    }

    /// Goes on with the configuration in force, unless the job was promised files that it would not get now.
    fn reconfigured(&mut self) {
        let has_files = |pod: &Pod<_>| pod.settings.ipuof_dir.is_some();
        if let Ok(now) = self.shop.pod(self.claim)
            && has_files(&now) == has_files(&self.pod)
        {
            self.pod = now;
        }
    }

    /// Puts on record that the partition is about to be made, if that is not.
    async fn put_on_record(&mut self) -> Result<(), Setback> {
        let directory = self.pod.settings.ipuof_dir.clone();
        if self.intent.as_ref() == Some(&directory) {
            return Ok(());
        }
        self.move_to(directory.as_ref()).await?;
        self.trouble = "the journal is still being written".into();
        let intent = Entry::Create {
            claim: self.claim.clone(),
            ipuof_dir: directory.as_deref().map(Path::to_path_buf),
        };
        self.lane.recorded.set(true);
        let recorded = self.patience.hold(self.shop.record(intent)).await?;
        recorded.map_err(|error| Setback::Shared(error.to_string().into()))?;
        let is_first = self.intent.replace(directory).is_none();
        failpoints::hold!("intent");
        if is_first {
            self.shop.world.report(Event::CreateStarted(self.claim.partition.clone()));
        }
        Ok(())
    }

    /// Has the files written there from now on. What was written elsewhere, before configuration changed, is deleted: the
    /// record knows one place.
    async fn move_to(&mut self, directory: Option<&Arc<Path>>) -> Result<(), Setback> {
        let earlier = self.lane.directory.borrow().clone();
        let has_files = !self.lane.fileless.get();
        if let Some(earlier) = earlier.filter(|earlier| has_files && Some(earlier) != directory) {
            self.trouble = format!("its IPUoF files in {} are still there", earlier.display()).into();
            self.withdraw(&earlier).await?;
        }
        self.lane.directory.replace(directory.cloned());
        Ok(())
    }

    /// Deletes the files in a directory that may be away: time does not count while it is.
    async fn withdraw(&mut self, directory: &Arc<Path>) -> Result<(), Setback> {
        let needs = self.shop.needs(&self.pod).into_iter().chain([self.shop.directory(directory)]);
        self.patience.minds(&needs.collect::<Vec<_>>());
        let files = remove::delete_files(self.shop, self.lane, self.claim, Some(Arc::clone(directory)));
        let withdrawn = self.patience.hold(files).await?;
        withdrawn.map_err(|trouble| {
            Setback::Again(
                format!("an IPUoF file cannot be deleted: {}", trouble.words).into(),
                Blame::Nobody,
            )
        })
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
                Err(Setback::Shared(trouble)) => {
                    self.trouble = trouble;
                    self.all_well().await?;
                    continue;
                }
                Err(Setback::RefusesAll(trouble)) => {
                    self.wait_for_consent(trouble).await?;
                    continue;
                }
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

    /// Waits until the controller has made a partition for somebody; and asks again now and then: nobody else may.
    async fn wait_for_consent(&mut self, trouble: Cow<'static, str>) -> Result<(), Stop> {
        self.trouble = trouble;
        if self.progress.refused(&self.trouble) {
            self.shop.world.tell(self.claim.run, self.progress.line());
        }
        let (refusals, news) = (Rc::clone(&self.pod.refusals), self.shop.news());
        let seen = news.count();
        let consent = async {
            tokio::select! {
                biased;
                () = refusals.over() => {}
                () = news.after(seen) => {}
                () = sleep(REFUSED_PAUSE) => {}
            }
        };
        self.patience.hold_unhurried(consent).await?;
        self.reconfigured();
        Ok(())
    }

    async fn attempt(&mut self) -> Result<(), Setback> {
        self.all_well().await?;
        self.id_is_good()?;
        self.put_on_record().await?;
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
        let config = self.patience.hold(self.pod.controller.ipuof_config(&self.claim.partition)).await??;
        // The controller has done its part: files that hang must not keep others from theirs.
        self.slot = None;
        match self.pod.settings.ipuof_dir.clone() {
            Some(directory) => self.files(directory, config).await,
            None => {
                self.lane.fileless.set(false);
                Ok(())
            }
        }
    }

    /// Whether an earlier call left a partition that may do; one that will not is cleared away.
    async fn found(&mut self) -> Result<bool, Setback> {
        let state = self.status().await?;
        if state != PartitionState::Absent {
            self.effect_seen();
        }
        match state {
            PartitionState::Pending | PartitionState::Active | PartitionState::Resetting => return Ok(true),
            PartitionState::Absent => {}
            PartitionState::Failed(_) => {
                self.still_in_charge().await?;
                remove::call(&self.pod, self.lane, &self.claim.partition).await?;
                self.gone().await?;
            }
            PartitionState::Removing | PartitionState::Removed => self.gone().await?,
        }
        self.may_exist = false;
        Ok(false)
    }

    async fn gone(&self) -> Result<(), Setback> {
        let gone = remove::confirm_gone(&self.pod, &self.claim.partition);
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
        let before = self.lane.owner.replace(Owner::Ours);
        let Err(error) = self.pod.controller.create(&request).await else {
            // This call's effect is what will be seen, not that of one before it.
            self.is_unanswered = false;
            self.consent();
            failpoints::hold!("create_acknowledged");
            self.look_first();
            return Ok(());
        };
        self.lane.owner.set(before);
        match error.failure {
            Failure::Refused => return Err(self.refused(error.message)),
            Failure::Exists if self.lane.owner.get() == Owner::Ours => {
                self.effect_seen();
                self.look_first();
                return Ok(());
            }
            // Whoever it is of may be giving it up just now.
            Failure::Exists => self.id_is_free().await?,
            // Nothing was sent, so nothing can come of it.
            Failure::NotSent => {}
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

    /// What follows of a refusal for good: the job's own fault, unless the controller refuses others, too.
    fn refused(&self, words: String) -> Setback {
        let Fault::OfTheController { is_news } = self.pod.refusals.add(self.claim.run.job) else {
            return Stop::Failed(words).into();
        };
        if is_news {
            tracing::error!(
                "{words}; it refuses all jobs: they wait, and of each user one asks again now and then"
            );
            spawn_local(say_refused(
                Rc::clone(self.shop),
                Rc::clone(&self.pod),
                self.claim.pod(),
                words.clone(),
            ));
        }
        Setback::RefusesAll(words.into())
    }

    /// The controller makes a partition.
    fn consent(&self) {
        if self.pod.refusals.success() {
            tracing::info!("controller {} makes partitions again", self.pod.controller.name());
        }
    }

    /// The partition is there: what the last create call was sent for, if it was not answered.
    fn effect_seen(&mut self) {
        if std::mem::take(&mut self.is_unanswered) {
            self.lane.unanswered.update(|calls| calls.saturating_sub(1));
        }
    }

    fn look_first(&mut self) {
        self.may_exist = true;
        self.lane.owner.set(Owner::Ours);
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
                PartitionState::Removing | PartitionState::Removed => {
                    return Err(self.again("somebody is removing it"));
                }
                PartitionState::Failed(words) => {
                    return Err(self.again(&format!("it went into error: {words}")));
                }
            };
            self.patience.pause(poll_pause(began.elapsed(), self.pod.usual_create.get())).await?;
        }
    }

    async fn status(&self) -> Result<PartitionState, Setback> {
        Ok(self.patience.hold(self.pod.status(&self.claim.partition)).await??)
    }

    fn again(&self, words: &str) -> Setback {
        Setback::Again(format!("controller {}: {words}", self.pod.controller.name()).into(), Blame::Partition)
    }

    /// Writes the IPUoF files. When patience ends, the writing goes on by itself, and holds up only
    /// who wants to delete the same files.
    async fn files(&mut self, directory: Arc<Path>, config: Config<W>) -> Result<(), Setback> {
        self.trouble = format!("its IPUoF files are still being written to {}", directory.display()).into();
        let (shop, lane, claim) = (Rc::clone(self.shop), Rc::clone(self.lane), self.claim.clone());
        let writing = spawn_local(async move {
            let _alone = lane.files.lock().await;
            // An earlier slurmctld may have written some: who cannot write may not be able to take those back.
            let none_before = lane.fileless.replace(false);
            let written = shop.with_files(&directory, shop.world.files().deliver(&directory, &claim, config));
            let written = written.await;
            lane.fileless.set(none_before && written.is_err());
            written
        });
        match self.patience.hold(writing).await? {
            Ok(Ok(())) => Ok(()),
            Ok(Err(FilesTrouble { words, is_shared, .. })) => {
                let words = format!("no IPUoF file: {words}").into();
                Err(if is_shared { Setback::Shared(words) } else { Setback::Again(words, Blame::Partition) })
            }
            Err(broken) => Err(Stop::Failed(format!("no IPUoF file: {broken}")).into()),
        }
    }
}

/// Says that a controller refuses whoever asks, again and again until it is over.
async fn say_refused<W: World>(shop: Rc<Shop<W>>, pod: Rc<Pod<W::Controller>>, id: PodId, words: String) {
    loop {
        shop.world.report(Event::Refuses { pod: id.clone(), reason: Some(words.clone()) });
        if timeout(REFUSED_PAUSE, pod.refusals.over()).await.is_ok() {
            return shop.world.report(Event::Refuses { pod: id, reason: None });
        }
    }
}
