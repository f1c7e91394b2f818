//! The Pods there are, and how each is dealt with.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use vipu_types::{ControllerName, IpuCount, PartitionId, PodId};

use crate::refusals::Refusals;
use crate::removals::Removals;
use crate::{CallError, Controller, Listing, PartitionState};

/// What configuration says of a model, as far as the driver has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    /// How long a create may take in all, retries included (CreateTimeout).
    pub create_timeout: Duration,
    /// How often a create that fails is tried again (MaxRetries).
    pub max_retries: u32,
    /// Between two surveys that nobody asked for (ReconcileInterval): what changes behind our back is seen this late.
    pub reconcile_interval: Duration,
    /// Whether partitions are removed that are named as ours are, though the journal does not know them (RemoveUnknown).
    pub remove_unknown: bool,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// Whether partitions are removed by force (ForceDeletePartition).
    pub force_remove: bool,
    /// Whether partitions are made reconfigurable (UseReconfigPartition).
    pub reconfigurable: bool,
    /// The allocation to take IPUs from (Allocation).
    pub allocation: Option<String>,
    /// The V-IPU cluster that IPUs are chosen from (Cluster).
    pub cluster: Option<String>,
    /// The agents of the allocation (AllocationAgents); empty when they are not known.
    pub allocation_agents: Vec<String>,
    /// How many creates may be under way at once on one controller, at least one (MaxConcurrentCreates).
    pub max_concurrent_creates: usize,
    /// Where IPUoF files go (IpuofDir); `None` when tasks do without (Delivery).
    pub ipuof_dir: Option<Arc<Path>>,
}

/// One controller of a model, with the model's settings.
#[derive(Clone, Debug)]
pub struct PodSetup<C> {
    /// The model, and what the controller is called.
    pub pod: PodId,
    /// The model's settings.
    pub settings: ModelSettings,
    /// The way to the controller.
    pub controller: C,
}

/// A Pod in use. Tasks keep the one they began with; a new configuration makes new ones.
pub(crate) struct Pod<C> {
    pub settings: ModelSettings,
    pub controller: C,
    /// One permit for each create that may be under way.
    pub slots: Arc<Semaphore>,
    /// How long the controller took to make the partition that was ready last.
    pub usual_create: Cell<Option<Duration>>,
    pub seen: Rc<Seen>,
    /// Cancelled when the controller has answered whoever is last in the order of [`Pod::turn`].
    last: RefCell<CancellationToken>,
}

/// What was seen of a controller, also by those who began with another configuration.
pub(crate) struct Seen {
    /// Whether it answered the last survey: who fails everybody is at fault, not what it was asked for.
    pub answers: Cell<bool>,
    /// What it refused since it made a partition last.
    pub refusals: Refusals,
    /// The partitions that it shows as removed.
    removals: Removals,
}

impl Default for Seen {
    /// That it answers is taken for granted until the first survey.
    fn default() -> Self {
        Self { answers: Cell::new(true), refusals: Refusals::default(), removals: Removals::default() }
    }
}

/// The longest a create waits for its turn: a call that hangs shall not hold up all others.
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// A place in the order in which the controller is asked for partitions; given up when dropped.
pub(crate) struct Turn {
    before: CancellationToken,
    _place: DropGuard,
}

impl Turn {
    /// Waits until the controller has answered all before this one.
    pub async fn come(&self) {
        // If the time is over, it is this one's turn all the same.
        let _ = timeout(LONGEST_TURN, self.before.cancelled()).await;
    }
}

impl<C> Pod<C> {
    /// The next turn to ask the controller for a partition.
    ///
    /// Jobs that begin together are asked for in that order: whoever is first must not find that the controller
    /// broke up his block for the next.
    pub fn turn(&self) -> Turn {
        let place = CancellationToken::new();
        Turn { before: self.last.replace(place.clone()), _place: place.drop_guard() }
    }

    /// Takes `setup` into use; creates under way since `before` go on counting unless the limit changed.
    pub fn new(setup: PodSetup<C>, seen: Rc<Seen>, before: Option<&Self>) -> Self {
        let PodSetup { settings, controller, .. } = setup;
        let limit = settings.max_concurrent_creates.max(1);
        let slots = match before {
            Some(old) if old.settings.max_concurrent_creates == settings.max_concurrent_creates => {
                Arc::clone(&old.slots)
            }
            _ => Arc::new(Semaphore::new(limit)),
        };
        Self::with(settings, controller, seen, slots)
    }

    fn with(settings: ModelSettings, controller: C, seen: Rc<Seen>, slots: Arc<Semaphore>) -> Self {
        let nobody = CancellationToken::new();
        nobody.cancel();
        Self { settings, controller, slots, usual_create: Cell::default(), seen, last: RefCell::new(nobody) }
    }
}

impl<C: Controller> Pod<C> {
    /// Another Pod of the same model, whose controller is not in the model's list: claims may still be on it.
    pub fn beside(&self, controller: &ControllerName, seen: Rc<Seen>) -> Result<Self, String> {
        let (settings, controller) = (self.settings.clone(), self.controller.beside(controller)?);
        let slots = Arc::new(Semaphore::new(settings.max_concurrent_creates.max(1)));
        Ok(Self::with(settings, controller, seen, slots))
    }

    /// How far a partition is, as [`Controller::status`]; one that is shown as removed for too long is absent.
    pub async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        let state = self.controller.status(partition).await?;
        Ok(self.seen.removals.judge(&self.controller.name(), partition, state))
    }

    /// All that there is, as [`Controller::survey`], without what is shown as removed for too long. The listing need not
    /// have all those of `ours`.
    pub async fn survey(&self, ours: impl Fn(&PartitionId) -> bool) -> Result<Listing, CallError> {
        let mut listing = self.controller.survey(&self.settings).await?;
        self.seen.removals.judge_all(&self.controller.name(), &mut listing, ours);
        Ok(listing)
    }
}
