//! V-IPU controllers for tests: the mock's Pods behind the driver's trait, over a network that a test makes
//! up. The driver's scenarios and the front end's simulation use them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use driver::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState};
use mock_vipu::{Effect, Fault, Nanos, Pod, Refusal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use vipu_client::wire::{CreatePartitionRequest, PartitionRequirements};
use vipu_client::{ErrorClass, PartitionInfo, PartitionStatus, Requirements};
use vipu_types::{ControllerName, JobRun, ModelName, PartitionId, Words, words};

/// The maker of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// This cluster, for this run.
    Us(JobRun),
    /// Another cluster.
    Others,
    /// This cluster, for the pool of a model.
    Pool,
}

/// Distinguishes a partition from others with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub maker: Maker,
    pub serial: u32,
}

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Create,
    Status,
    Pending,
    Config,
    Remove,
    RemoveByForce,
    Reset,
    Survey,
}

/// The result of a call.
pub enum Fate {
    /// It takes effect after this time, and is answered then.
    After(Duration),
    /// It takes effect this long after its caller has given up.
    Late(Duration),
    /// It has no effect, and fails after this time.
    Fails(Duration, Failure, &'static str),
    /// It takes effect at once, but its caller gets an error that leaves the effect open.
    Unclear(&'static str),
}

/// The connection from a driver to controllers.
pub trait Network: Clone + 'static {
    /// The state of a controller besides its Pod.
    type State: Default + 'static;

    /// The time after which a caller gives up.
    const TIMEOUT: Duration;

    /// The controller with this name.
    fn machine(&self, name: &ControllerName) -> Option<Rc<Machine<Self::State>>>;

    /// Decides the result of a call, which is about this partition unless it is a survey.
    fn fate(&self, machine: &Machine<Self::State>, call: Call, partition: Option<&PartitionId>) -> Fate;

    /// Runs `work` even if the caller goes away.
    fn outside(&self, work: impl Future<Output = ()> + 'static);

    /// Returns the caller of a create call that is about to be made.
    fn about_to_make(&self, partition: &PartitionId) -> Maker;

    /// Returns whether the controller acts on a remove call that takes effect.
    fn about_to_remove(&self, _: &Machine<Self::State>, _: &PartitionId) -> bool {
        true
    }

    /// Notes that a controller resets a partition.
    fn about_to_reset(&self, _: &Machine<Self::State>, _: &PartitionId) {}

    /// Notes that a partition stays idle, or that another job has it after this run.
    fn noted(&self, _: &PartitionId, _before: Option<JobRun>) {}

    /// Changes the state that a controller reports.
    fn shown(&self, _: &Machine<Self::State>, state: PartitionState) -> PartitionState {
        state
    }

    /// Changes a listing of a controller.
    fn change(&self, _: &Machine<Self::State>, _: &mut Listing) {}
}

/// One controller.
pub struct Machine<S> {
    pub name: ControllerName,
    pub model: ModelName,
    pub pod: RefCell<Pod>,
    pub state: S,
    /// The tag of each partition that exists or existed, by name.
    pub tags: RefCell<BTreeMap<String, Tag>>,
    made: Cell<u32>,
    /// The time at which the last call under way takes effect.
    pub settled: Cell<Instant>,
    began: Instant,
}

impl<S: Default> Machine<S> {
    pub fn new(name: ControllerName, model: ModelName, pod: Pod, began: Instant) -> Self {
        Self {
            name,
            model,
            pod: RefCell::new(pod),
            state: S::default(),
            tags: RefCell::default(),
            made: Cell::new(0),
            settled: Cell::new(began),
            began,
        }
    }

    /// The time on the Pod's clock.
    pub fn now(&self) -> Nanos {
        Nanos(0) + self.began.elapsed()
    }

    /// The partitions that exist, with their tags, by name.
    pub fn partitions(&self) -> Vec<(PartitionId, Tag)> {
        let listed = self.pod.borrow_mut().list("", self.now()).unwrap();
        let tags = self.tags.borrow();
        listed.into_iter().map(|it| (PartitionId::new(it.id.as_str()).unwrap(), tags[&it.id])).collect()
    }

    /// The tag of the partition with this name, if it exists.
    pub fn tag(&self, partition: &str) -> Option<Tag> {
        let is_there = self.pod.borrow_mut().status(partition, self.now()).is_ok();
        self.tags.borrow().get(partition).copied().filter(|_| is_there)
    }

    /// Injects a fault into the next partition.
    pub fn inject(&self, effect: Effect) {
        self.pod.borrow_mut().inject(Fault::new(effect).times(1));
    }

    /// Makes a partition.
    pub fn make(&self, wanted: PartitionRequirements, maker: Maker) -> Result<(), Refusal> {
        self.create(&CreatePartitionRequest { requirements: Some(wanted) }, maker)
    }

    fn create(&self, request: &CreatePartitionRequest, maker: Maker) -> Result<(), Refusal> {
        let id = self.pod.borrow_mut().create(request, self.now())?;
        self.made.set(self.made.get() + 1);
        self.tags.borrow_mut().insert(id, Tag { maker, serial: self.made.get() });
        Ok(())
    }

    /// Gives a partition that exists to this maker.
    pub fn hand_over(&self, partition: &PartitionId, maker: Maker) {
        if let Some(tag) = self.tags.borrow_mut().get_mut(partition.as_str()) {
            tag.maker = maker;
        }
    }

    /// Carries out a remove. Returns whether the partition was there.
    pub fn remove(&self, partition: &str, force: bool) -> bool {
        self.pod.borrow_mut().remove(partition, force, self.now()).is_ok()
    }

    fn state(&self, partition: &PartitionId) -> PartitionState {
        let status = self.pod.borrow_mut().status(partition.as_str(), self.now());
        status.map_or(PartitionState::Absent, |status| PartitionStatus::from(status).into())
    }

    fn pending(&self) -> BTreeSet<PartitionId> {
        let ids = self.partitions().into_iter().map(|(id, _)| id);
        ids.filter(|id| self.state(id) == PartitionState::Pending).collect()
    }

    fn listing(&self, settings: &ModelSettings) -> Listing {
        let listed = self.pod.borrow_mut().list("", self.now()).unwrap();
        let partitions = listed.into_iter().map(PartitionInfo::from).collect();
        let listing = Listing::of(&[], partitions, |id| settings.has_in_pool(id));
        Listing { ipus: self.pod.borrow().ipus(), ..listing }
    }
}

/// The connection to one controller.
#[derive(Clone)]
pub struct Line<N: Network> {
    pub machine: Rc<Machine<N::State>>,
    pub network: N,
}

impl<N: Network> Line<N> {
    fn error(&self, failure: Failure, cause: &str) -> CallError {
        let message = words!("controller {}: {cause}", self.machine.name);
        CallError { failure, message, cause: cause.into() }
    }

    /// Calls `work` on the controller or not, as the network decides.
    async fn call<T: 'static>(
        &self,
        call: Call,
        partition: Option<&PartitionId>,
        work: impl FnOnce(&Machine<N::State>) -> T + 'static,
    ) -> Result<T, CallError> {
        let no_answer = || self.error(Failure::Unclear, "no answer");
        match self.network.fate(&self.machine, call, partition) {
            Fate::After(time) if time.is_zero() => Ok(work(&self.machine)),
            Fate::After(time) => self.deliver(time, work).await.map_err(|_| no_answer()),
            Fate::Late(by) => {
                drop(self.deliver(N::TIMEOUT + by, work));
                sleep(N::TIMEOUT).await;
                Err(no_answer())
            }
            Fate::Fails(after, failure, cause) => {
                // A timer that is due at once still costs a turn of the runtime.
                if !after.is_zero() {
                    sleep(after).await;
                }
                Err(self.error(failure, cause))
            }
            Fate::Unclear(cause) => {
                work(&self.machine);
                Err(self.error(Failure::Unclear, cause))
            }
        }
    }

    /// Calls `work` after `time`, even if the caller goes away.
    fn deliver<T: 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&Machine<N::State>) -> T + 'static,
    ) -> oneshot::Receiver<T> {
        let (machine, (reply, replied)) = (Rc::clone(&self.machine), oneshot::channel());
        machine.settled.set(machine.settled.get().max(Instant::now() + time));
        self.network.outside(async move {
            sleep(time).await;
            // The caller may be gone by now.
            let _ = reply.send(work(&machine));
        });
        replied
    }

    fn told(&self, refusal: &Refusal) -> CallError {
        self.error(ErrorClass::of(refusal.code).into(), &refusal.text)
    }
}

impl<N: Network> Controller for Line<N> {
    type Config = Tag;

    fn name(&self) -> impl Display {
        &self.machine.name
    }

    fn beside(&self, name: &ControllerName) -> Result<Self, Words> {
        let machine = self.network.machine(name).ok_or_else(|| words!("no controller {name}"))?;
        Ok(Self { machine, network: self.network.clone() })
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        let maker = self.network.about_to_make(request.partition);
        let wanted = CreatePartitionRequest::from(&Requirements::from(request));
        let work = move |machine: &Machine<N::State>| machine.create(&wanted, maker);
        self.call(Call::Create, Some(request.partition), work).await?.map_err(|refusal| self.told(&refusal))
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        let id = partition.clone();
        let state = self.call(Call::Status, Some(partition), move |machine| machine.state(&id)).await?;
        Ok(self.network.shown(&self.machine, state))
    }

    async fn pending(&self, _: &ModelSettings) -> Result<BTreeSet<PartitionId>, CallError> {
        self.call(Call::Pending, None, Machine::pending).await
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Tag, CallError> {
        let id = partition.clone();
        let tag = self.call(Call::Config, Some(partition), move |machine| match machine.state(&id) {
            PartitionState::Active => machine.tag(id.as_str()),
            _ => None,
        });
        tag.await?.ok_or_else(|| self.error(Failure::Unclear, "it is not active"))
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        let (id, network) = (partition.clone(), self.network.clone());
        let work = move |machine: &Machine<N::State>| {
            if network.about_to_remove(machine, &id) {
                machine.remove(id.as_str(), force);
            }
        };
        let call = if force { Call::RemoveByForce } else { Call::Remove };
        self.call(call, Some(partition), work).await
    }

    async fn reset(&self, partition: &PartitionId) -> Result<(), CallError> {
        let (id, network) = (partition.clone(), self.network.clone());
        let work = move |machine: &Machine<N::State>| {
            network.about_to_reset(machine, &id);
            machine.pod.borrow_mut().reset(id.as_str(), false, machine.now())
        };
        self.call(Call::Reset, Some(partition), work).await?.map_err(|refusal| self.told(&refusal))
    }

    fn stays_idle(&self, partition: &PartitionId, _: Duration) {
        self.network.noted(partition, None);
    }

    fn reused(&self, partition: &PartitionId, before: Option<JobRun>, _: Duration) {
        self.network.noted(partition, before);
    }

    async fn survey(&self, settings: &ModelSettings) -> Result<Listing, CallError> {
        let settings = settings.clone();
        let listing = move |machine: &Machine<N::State>| machine.listing(&settings);
        let mut listing = self.call(Call::Survey, None, listing).await?;
        self.network.change(&self.machine, &mut listing);
        Ok(listing)
    }
}
