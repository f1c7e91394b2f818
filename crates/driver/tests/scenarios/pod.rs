//! A controller in memory that does what a test tells it to.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use driver::{CallError, Controller, CreateRequest, Failure, Listing, ModelSettings, PartitionState};
use ledger::SeenPartition;
use tokio::time::{Instant, sleep};
use vipu_types::{ControllerName, PartitionId};

use crate::harness::Log;

/// What becomes of one create call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Accepted; active after [`Pod::make_time`].
    Good,
    /// Accepted; in error after [`Pod::make_time`].
    GoesWrong,
    /// Accepted; never active.
    Stuck,
    /// Accepted, but the reply is lost.
    LostReply,
    /// Lost on the way; it takes effect later.
    Late(Duration),
    /// Lost on the way.
    Lost,
    /// Not even sent.
    NotSent,
    /// No room.
    NoRoom,
    /// Refused for good.
    Refused,
    /// Refused as nobody knows us.
    Stranger,
}

/// What becomes of one remove call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remove {
    /// Accepted; gone after [`Pod::remove_time`] and [`Pod::removed_time`].
    Good,
    /// Accepted; in error at once and still there.
    GoesWrong,
    /// No answer.
    Lost,
}

struct Partition {
    size: u32,
    ready: Option<Instant>,
    fault: bool,
    /// From when on it is shown as removed, and when it is gone.
    leaves: Option<(Instant, Instant)>,
}

/// Which controller is on which host.
pub type Network = Rc<RefCell<BTreeMap<String, Pod>>>;

/// The controller; clones are the same one.
#[derive(Clone)]
pub struct Pod(Rc<Inner>);

pub struct Inner {
    log: Log,
    pub network: Network,
    partitions: RefCell<BTreeMap<PartitionId, Partition>>,
    /// What becomes of the next calls; those after them are good.
    pub creates: RefCell<VecDeque<Create>>,
    pub removes: RefCell<VecDeque<Remove>>,
    pub configs: RefCell<VecDeque<Failure>>,
    /// Partitions that it refuses for what was asked.
    pub refused: RefCell<BTreeSet<PartitionId>>,
    pub surveys: RefCell<VecDeque<Failure>>,
    /// How many IPUs there are for partitions.
    pub ipus: Cell<u32>,
    /// How long calls take.
    pub call_time: Cell<Duration>,
    pub make_time: Cell<Duration>,
    pub remove_time: Cell<Duration>,
    /// How long a partition is shown as removed.
    pub removed_time: Cell<Duration>,
    pub survey_time: Cell<Duration>,
    /// It lists nothing, and asked of a partition it says nothing until that long has passed.
    pub silent_for: Cell<Option<Duration>>,
}

impl std::ops::Deref for Pod {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

fn error(failure: Failure) -> CallError {
    let cause = format!("{failure:?}");
    CallError { failure, message: format!("controller pod:8090: {cause}"), cause }
}

/// Lets time pass, if any: a timer that is due at once still costs a turn of the runtime.
async fn pass(time: Duration) {
    if time > Duration::ZERO {
        sleep(time).await;
    }
}

impl Pod {
    pub fn new(log: Log) -> Self {
        Self::on(&Rc::default(), log)
    }

    /// One that finds others on this network.
    pub fn on(network: &Network, log: Log) -> Self {
        Self(Rc::new(Inner {
            log,
            network: Rc::clone(network),
            partitions: RefCell::default(),
            creates: RefCell::default(),
            removes: RefCell::default(),
            configs: RefCell::default(),
            refused: RefCell::default(),
            surveys: RefCell::default(),
            ipus: Cell::new(u32::MAX),
            call_time: Cell::default(),
            make_time: Cell::new(Duration::from_secs(2)),
            remove_time: Cell::new(Duration::from_secs(1)),
            removed_time: Cell::new(Duration::from_millis(300)),
            survey_time: Cell::default(),
            silent_for: Cell::default(),
        }))
    }

    /// Puts a partition there that is active after `ready`, or never.
    pub fn put(&self, partition: &PartitionId, ready: Option<Duration>) {
        let ready = ready.map(|after| Instant::now() + after);
        let partition_there = Partition { size: 1, ready, fault: false, leaves: None };
        self.partitions.borrow_mut().insert(partition.clone(), partition_there);
    }

    /// Shows a partition as removed for so long.
    pub fn put_removed(&self, partition: &PartitionId, shown: Duration) {
        self.put(partition, None);
        if let Some(there) = self.partitions.borrow_mut().get_mut(partition) {
            let now = Instant::now();
            there.leaves = Some((now, now + shown));
        }
    }

    /// The partitions there are now.
    pub fn partitions(&self) -> Vec<String> {
        let now = Instant::now();
        let mut partitions = self.partitions.borrow_mut();
        partitions.retain(|_, partition| partition.leaves.is_none_or(|(_, gone)| gone > now));
        partitions.keys().map(PartitionId::to_string).collect()
    }

    fn is_there(&self, partition: &PartitionId) -> bool {
        self.partitions().iter().any(|id| id == partition.as_str())
    }

    fn is_shown_removed(&self, id: &str) -> bool {
        let partitions = self.partitions.borrow();
        let partition = partitions.iter().find(|(partition, _)| partition.as_str() == id);
        let leaves = partition.and_then(|(_, partition)| partition.leaves);
        leaves.is_some_and(|(removed, _)| removed <= Instant::now())
    }

    /// Somebody has a partition removed.
    pub fn take_away(&self, partition: &PartitionId) {
        if let Some(there) = self.partitions.borrow_mut().get_mut(partition) {
            let removed = Instant::now() + self.remove_time.get();
            there.leaves.get_or_insert((removed, removed + self.removed_time.get()));
        }
    }

    fn has_room(&self, size: u32) -> bool {
        self.partitions();
        let used: u32 = self.partitions.borrow().values().map(|partition| partition.size).sum();
        used + size <= self.ipus.get()
    }

    fn make(&self, partition: &PartitionId, size: u32, what: Create) {
        self.put(partition, (what != Create::Stuck).then(|| self.make_time.get()));
        if let Some(made) = self.partitions.borrow_mut().get_mut(partition) {
            (made.size, made.fault) = (size, what == Create::GoesWrong);
        }
    }
}

impl Controller for Pod {
    type Config = String;

    fn name(&self) -> impl Display {
        "pod:8090"
    }

    fn beside(&self, name: &ControllerName) -> Result<Self, String> {
        self.network.borrow().get(name.host()).cloned().ok_or_else(|| format!("no host {}", name.host()))
    }

    async fn create(&self, request: &CreateRequest<'_>) -> Result<(), CallError> {
        let id = request.partition;
        self.log.add(format!("call create {id}"));
        pass(self.call_time.get()).await;
        let what = self.creates.borrow_mut().pop_front().unwrap_or(Create::Good);
        match what {
            _ if self.refused.borrow().contains(id) => return Err(error(Failure::Refused)),
            Create::NoRoom => return Err(error(Failure::NoRoom)),
            Create::Refused => return Err(error(Failure::Refused)),
            Create::Stranger => return Err(error(Failure::Stranger)),
            Create::Lost => return Err(error(Failure::Unclear)),
            Create::NotSent => return Err(error(Failure::NotSent)),
            Create::Late(after) => {
                let (pod, id, size) = (self.clone(), id.clone(), request.size.get());
                tokio::task::spawn_local(async move {
                    sleep(after).await;
                    if !pod.is_there(&id) {
                        pod.make(&id, size, Create::Good);
                    }
                });
                return Err(error(Failure::Unclear));
            }
            _ if self.is_there(id) => return Err(error(Failure::Exists)),
            _ if !self.has_room(request.size.get()) => return Err(error(Failure::NoRoom)),
            _ => self.make(id, request.size.get(), what),
        }
        if what == Create::LostReply { Err(error(Failure::Unclear)) } else { Ok(()) }
    }

    async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        self.log.add_once(format!("call status {partition}"));
        pass(self.call_time.get()).await;
        if let Some(limit) = self.silent_for.get() {
            pass(limit).await;
            return Err(error(Failure::Unclear));
        }
        let (now, partitions) = (Instant::now(), self.partitions.borrow());
        Ok(match partitions.get(partition) {
            None => PartitionState::Absent,
            Some(Partition { leaves: Some((_, gone)), .. }) if *gone <= now => PartitionState::Absent,
            Some(Partition { leaves: Some((removed, _)), .. }) if *removed <= now => PartitionState::Removed,
            Some(Partition { leaves: Some(_), .. }) => PartitionState::Removing,
            Some(Partition { ready: Some(ready), fault, .. }) if *ready <= now => {
                if *fault {
                    PartitionState::Failed("broken link".into())
                } else {
                    PartitionState::Active
                }
            }
            Some(_) => PartitionState::Pending,
        })
    }

    async fn ipuof_config(&self, partition: &PartitionId) -> Result<String, CallError> {
        self.log.add(format!("call config {partition}"));
        match self.configs.borrow_mut().pop_front() {
            Some(failure) => Err(error(failure)),
            None => Ok(format!("config of {partition}")),
        }
    }

    async fn remove(&self, partition: &PartitionId, force: bool) -> Result<(), CallError> {
        self.log.add(format!("call remove {partition}{}", if force { " by force" } else { "" }));
        pass(self.call_time.get()).await;
        let what = self.removes.borrow_mut().pop_front().unwrap_or(Remove::Good);
        if what == Remove::Lost {
            return Err(error(Failure::Unclear));
        }
        if what == Remove::Good || force {
            self.take_away(partition);
        } else if let Some(there) = self.partitions.borrow_mut().get_mut(partition) {
            (there.ready, there.fault) = (Some(Instant::now()), true);
        }
        Ok(())
    }

    async fn survey(&self, _: &ModelSettings) -> Result<Listing, CallError> {
        self.log.add("call survey".into());
        pass(self.survey_time.get()).await;
        if let Some(failure) = self.surveys.borrow_mut().pop_front() {
            return Err(error(failure));
        }
        let seen = |id: String| SeenPartition {
            leaving: self.is_shown_removed(&id),
            partition: PartitionId::new(id).unwrap(),
            places: Vec::new(),
            fault: None,
        };
        let shown = if self.silent_for.get().is_some() { Vec::new() } else { self.partitions() };
        Ok(Listing { ipus: 64, faulty: 0, partitions: shown.into_iter().map(seen).collect() })
    }
}
