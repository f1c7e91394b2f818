//! V-IPU controllers: the mock's Pods behind the driver's trait, over a network that loses messages.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use driver::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState};
use ledger::{Place, SeenPartition};
use mock_vipu::{Effect, Fault, Hardware, Incident, Nanos, Pod, Refusal, Settings};
use rand::RngExt;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use vipu_client::wire::{
    CreatePartitionRequest, PartitionIpu, PartitionOperationState as Operation, PartitionReadyState as Ready,
    PartitionRequirements,
};
use vipu_types::{ControllerName, JobRun, ModelName, PartitionId};

use crate::cluster::Cluster;
use crate::slurmctld::Slurmctld;

/// The time for which the driver's side waits for an answer.
pub const API_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time after the timeout at which the driver expects a create to take effect.
const LATE: Duration = Duration::from_millis(4_900);

/// The longest time after the timeout at which a create takes effect that nothing expects any more.
const VERY_LATE: Duration = Duration::from_secs(120);

/// The maker of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// This cluster, for this run.
    Us(JobRun),
    /// Another cluster.
    Others,
}

/// Tells a partition from others with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub maker: Maker,
    serial: u32,
}

/// The way in which a controller treats calls at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Well,
    /// There is no connection.
    Refuses,
    /// Some calls get no answer and have no effect.
    Hangs,
    /// Some calls get an error that does not say whether they took effect.
    Garbles,
    /// Some calls take effect, and then the connection breaks.
    LosesReplies,
    /// The controller does not know this cluster.
    Stranger,
    /// Some creates take effect up to [`LATE`] after their caller has given up.
    Late,
    /// Some creates take effect up to [`VERY_LATE`] after their caller has given up.
    VeryLate,
    /// Some removes take effect up to [`VERY_LATE`] after their caller has given up.
    RemovesLate,
    /// No call gets an answer or has an effect.
    Silent,
    /// Answers are allowed by the interface, but the mock never gives them: see [`Line::as_by_other_hands`].
    OtherHands,
    /// Removes are accepted and have no effect.
    RemovesNothing,
}

/// The kinds of calls that a mood treats differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Create,
    Remove,
    Other,
}

/// One controller.
pub struct Machine {
    pub name: ControllerName,
    pub model: ModelName,
    ipus: u32,
    pod: RefCell<Pod>,
    /// The tag of each partition that exists or existed, by name.
    tags: RefCell<BTreeMap<String, Tag>>,
    /// The serial numbers of partitions that a fault took away.
    lost: RefCell<BTreeSet<u32>>,
    made: Cell<u32>,
    pub mood: Cell<Mood>,
    /// The time at which the last call under way takes effect.
    pub settled: Cell<Instant>,
    began: Instant,
}

impl Machine {
    pub fn new(name: &str, model: ModelName, ipus: u32, began: Instant) -> Self {
        Self {
            name: name.parse().unwrap(),
            model,
            ipus,
            pod: RefCell::new(pod(ipus)),
            tags: RefCell::default(),
            lost: RefCell::default(),
            made: Cell::new(0),
            mood: Cell::default(),
            settled: Cell::new(began),
            began,
        }
    }

    fn now(&self) -> Nanos {
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

    /// Whether a fault took this partition away.
    pub fn has_lost(&self, tag: Tag) -> bool {
        self.lost.borrow().contains(&tag.serial)
    }

    /// All IPUs that two partitions had at once at any time.
    pub fn double_owners(&self) -> Vec<mock_vipu::DoubleOwner> {
        let mut pod = self.pod.borrow_mut();
        pod.advance(self.now());
        mock_vipu::double_owners(pod.records())
    }

    /// Injects a fault into the next partition.
    pub fn inject(&self, effect: Effect) {
        self.pod.borrow_mut().inject(Fault::new(effect).times(1));
    }

    /// Restarts the controller without its partitions.
    pub fn forget(&self) {
        let gone = self.partitions();
        self.lost.borrow_mut().extend(gone.iter().map(|(_, tag)| tag.serial));
        self.pod.replace(pod(self.ipus));
    }

    /// Puts a partition into error, if it is active.
    pub fn break_one(&self, partition: &PartitionId) {
        let incident =
            Incident::PartitionError { partition: partition.to_string(), text: "link down".into() };
        // It may be a partition that cannot break.
        let _ = self.pod.borrow_mut().cause(&incident, self.now());
    }

    /// Takes a partition away.
    pub fn vanish(&self, partition: &PartitionId) {
        self.lost.borrow_mut().extend(self.tag(partition.as_str()).map(|tag| tag.serial));
        let incident = Incident::Vanish { partition: partition.to_string() };
        let _ = self.pod.borrow_mut().cause(&incident, self.now());
    }

    /// Ends all faults. Partitions that would be removed for ever vanish.
    pub fn calm(&self) {
        self.mood.set(Mood::Well);
        self.pod.borrow_mut().clear_faults();
        for (partition, _) in self.partitions() {
            let status = self.pod.borrow_mut().status(partition.as_str(), self.now());
            if status.is_ok_and(|it| it.operation_state == i32::from(Operation::PosRemoving)) {
                self.vanish(&partition);
            }
        }
    }

    /// Carries out a create.
    pub fn make(&self, wanted: PartitionRequirements, maker: Maker) -> Result<(), Refusal> {
        let id = wanted.id.clone();
        let request = CreatePartitionRequest { requirements: Some(wanted) };
        self.pod.borrow_mut().create(&request, self.now())?;
        self.made.set(self.made.get() + 1);
        self.tags.borrow_mut().insert(id, Tag { maker, serial: self.made.get() });
        Ok(())
    }

    /// Carries out a remove. Returns whether there was something to remove.
    pub fn remove(&self, partition: &str, force: bool) -> bool {
        self.pod.borrow_mut().remove(partition, force, self.now()).is_ok()
    }

    fn state(&self, partition: &PartitionId) -> PartitionState {
        let Ok(status) = self.pod.borrow_mut().status(partition.as_str(), self.now()) else {
            return PartitionState::Absent;
        };
        match (status.ready_state(), status.operation_state()) {
            (Ready::PsRemoved, _) => PartitionState::Removed,
            (_, Operation::PosRemoving) => PartitionState::Removing,
            (Ready::PsActive, _) => PartitionState::Active,
            (Ready::PsError, Operation::PosResetting) => PartitionState::Resetting,
            (Ready::PsError, _) => PartitionState::Failed(status.errors.join("; ")),
            _ => PartitionState::Pending,
        }
    }

    fn listing(&self) -> Listing {
        let listed = self.pod.borrow_mut().list("", self.now()).unwrap();
        let place =
            |ipu: &PartitionIpu| Place { domain: ipu.ipulink_domain_topology_id, index: ipu.topology_id };
        let seen = listed.into_iter().map(|it| SeenPartition {
            leaving: it.ready_state() == Ready::PsRemoved,
            fault: (it.ready_state() == Ready::PsError).then(|| "it is in error".to_owned()),
            partition: PartitionId::new(it.id).unwrap(),
            places: it.spec.iter().flat_map(|spec| &spec.ipus).map(place).collect(),
        });
        Listing { ipus: self.ipus, faulty: 0, partitions: seen.collect() }
    }
}

fn pod(ipus: u32) -> Pod {
    let settings = Settings {
        create: Duration::from_millis(250),
        remove: Duration::from_millis(100),
        ..Settings::default()
    };
    Pod::new(Hardware::new(ipus), settings).unwrap()
}

/// The connection from one slurmctld to a controller.
#[derive(Clone)]
pub struct Line {
    pub machine: Rc<Machine>,
    pub caller: Rc<Slurmctld>,
}

impl Line {
    fn error(&self, failure: Failure, cause: &str) -> CallError {
        let message = format!("controller {}: {cause}", self.machine.name);
        CallError { failure, message, cause: cause.to_owned() }
    }

    fn cluster(&self) -> &Rc<Cluster> {
        &self.caller.cluster
    }

    /// Calls `work` on the controller or not, depending on its mood.
    async fn call<T: 'static>(
        &self,
        call: Call,
        time: Duration,
        work: impl FnOnce(&Machine) -> T + 'static,
    ) -> Result<T, CallError> {
        let unclear = |cause: &str| Err(self.error(Failure::Unclear, cause));
        let not_sent = |cause: &str| Err(self.error(Failure::NotSent, cause));
        let cluster = self.cluster();
        let beyond = |longest: Duration| API_TIMEOUT + cluster.up_to(longest);
        let often = cluster.chance(0.5);
        match self.machine.mood.get() {
            Mood::Refuses => not_sent("connection refused"),
            Mood::Stranger => Err(self.error(Failure::Stranger, "who are you?")),
            Mood::Hangs if often => {
                sleep(API_TIMEOUT).await;
                unclear("no answer")
            }
            Mood::Garbles if often => {
                if cluster.chance(0.5) {
                    work(&self.machine);
                }
                unclear("<html>Bad Gateway</html>")
            }
            Mood::LosesReplies if often => {
                work(&self.machine);
                unclear("connection reset")
            }
            Mood::Silent => {
                sleep(API_TIMEOUT).await;
                unclear("no answer")
            }
            Mood::Late if often && call == Call::Create => self.deliver(beyond(LATE), work).await,
            Mood::VeryLate if often && call == Call::Create => self.deliver(beyond(VERY_LATE), work).await,
            Mood::RemovesLate if often && call == Call::Remove => self.deliver(beyond(VERY_LATE), work).await,
            _ if time.is_zero() => Ok(work(&self.machine)),
            _ => self.deliver(cluster.up_to(time), work).await,
        }
    }

    /// Calls `work` after `time`, whatever becomes of the caller.
    async fn deliver<T: 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&Machine) -> T + 'static,
    ) -> Result<T, CallError> {
        let (machine, (reply, replied)) = (Rc::clone(&self.machine), oneshot::channel());
        machine.settled.set(machine.settled.get().max(Instant::now() + time));
        self.cluster().outside(async move {
            sleep(time).await;
            // The caller may be gone by now.
            let _ = reply.send(work(&machine));
        });
        let answer = timeout(API_TIMEOUT, replied).await;
        answer.ok().and_then(Result::ok).ok_or_else(|| self.error(Failure::Unclear, "no answer"))
    }

    fn is_by_other_hands(&self) -> bool {
        self.machine.mood.get() == Mood::OtherHands
    }

    /// Shows a partition as PENDING again after it was ACTIVE, or as REMOVED after it is gone.
    fn as_by_other_hands(&self, state: PartitionState) -> PartitionState {
        match state {
            PartitionState::Active if self.cluster().chance(0.3) => PartitionState::Pending,
            PartitionState::Absent if self.cluster().chance(0.5) => PartitionState::Removed,
            state => state,
        }
    }

    /// Changes a listing so that it disagrees with the others: it is empty, as after a restart, or lacks a
    /// partition.
    fn list_as_by_other_hands(&self, listing: &mut Listing) {
        if self.cluster().chance(0.1) {
            listing.partitions.clear();
        }
        if !listing.partitions.is_empty() && self.cluster().chance(0.3) {
            let pick = self.cluster().random.borrow_mut().random_range(0..listing.partitions.len());
            listing.partitions.remove(pick);
        }
    }

    fn told(&self, refusal: &Refusal) -> CallError {
        let failure = match vipu_client::code::name(refusal.code) {
            "INVALID_ARGUMENT" | "PERMISSION_DENIED" => Failure::Refused,
            "RESOURCE_EXHAUSTED" => Failure::NoRoom,
            "ALREADY_EXISTS" => Failure::Exists,
            _ => Failure::Unclear,
        };
        self.error(failure, &refusal.text)
    }
}

impl Controller for Line {
    type Config = Tag;

    fn name(&self) -> impl Display {
        &self.machine.name
    }

    fn beside(&self, name: &ControllerName) -> Result<Self, String> {
        let machine = self.cluster().machine(name).ok_or_else(|| format!("no controller {name}"))?;
        Ok(Self { machine: Rc::clone(machine), caller: Rc::clone(&self.caller) })
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        let run = self.caller.about_to_make(request.partition);
        let ipu = |place: &Place| PartitionIpu {
            ipulink_domain_topology_id: place.domain,
            topology_id: place.index,
            ..Default::default()
        };
        let wanted = PartitionRequirements {
            id: request.partition.to_string(),
            size: request.size.get(),
            reconfigurable: request.shape.reconfigurable == Some(true),
            num_gcds: request.shape.gcds,
            cluster_id: request.cluster.filter(|_| !request.ipus.is_empty()).unwrap_or_default().to_owned(),
            ipus: request.ipus.iter().map(ipu).collect(),
            ..Default::default()
        };
        let work = move |machine: &Machine| machine.make(wanted, Maker::Us(run));
        self.call(Call::Create, Duration::from_millis(20), work).await?.map_err(|refusal| self.told(&refusal))
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        let id = partition.clone();
        let state = self.call(Call::Other, Duration::ZERO, move |machine| machine.state(&id)).await?;
        Ok(if self.is_by_other_hands() { self.as_by_other_hands(state) } else { state })
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<Tag, CallError> {
        let id = partition.clone();
        let tag = self.call(Call::Other, Duration::ZERO, move |machine| match machine.state(&id) {
            PartitionState::Active => machine.tag(id.as_str()),
            _ => None,
        });
        tag.await?.ok_or_else(|| self.error(Failure::Unclear, "it is not active"))
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        let (id, caller) = (partition.clone(), Rc::clone(&self.caller));
        let work = move |machine: &Machine| {
            caller.about_to_remove(machine, &id);
            if machine.mood.get() != Mood::RemovesNothing {
                machine.remove(id.as_str(), force);
            }
        };
        self.call(Call::Remove, Duration::from_millis(20), work).await
    }

    async fn survey(&self, _: &ModelSettings) -> Result<Listing, CallError> {
        let mut listing = self.call(Call::Other, Duration::ZERO, Machine::listing).await?;
        if self.is_by_other_hands() {
            self.list_as_by_other_hands(&mut listing);
        }
        Ok(listing)
    }
}
