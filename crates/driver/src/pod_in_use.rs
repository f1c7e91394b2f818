//! The configured Pods, with the state that all creates on a Pod share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use vipu_types::{PartitionId, PodId, Words, words};

use crate::broken_hosts::ToldHosts;
use crate::creates_under_way::CreatesUnderWay;
use crate::refusing_controller::Refusals;
use crate::shown_as_removed::ShownAsRemoved;
use crate::tracked::Tracked;
use crate::usual_times::UsualTimes;
use crate::{CallError, Controller, Failure, Listing, ModelSettings, PartitionState, PodSetup};

/// A Pod in use. A task keeps the Pod with which it began. A new configuration makes new Pods.
pub(crate) struct PodInUse<C> {
    pub id: PodId,
    pub settings: ModelSettings,
    pub controller: C,
    /// One permit for each create that may be under way.
    pub slots: Arc<Semaphore>,
    /// The creates that wait until their partitions are active.
    pub under_way: CreatesUnderWay,
    pub observed: Rc<ObservedController>,
    /// Asks for a survey. Remembers one request, so that a request during a survey leads to one more survey after it.
    pub survey_wanted: Notify,
    /// Cancelled when the controller has answered the last create in the order of [`PodInUse::next_place`].
    last: RefCell<CancellationToken>,
}

/// Observations of a controller. They outlive a change of configuration.
pub(crate) struct ObservedController {
    /// Whether it answered the last survey. If it answers no call, the controller is at fault, not the
    /// request.
    pub answers: Cell<bool>,
    /// It answers again.
    pub is_back: Notify,
    /// The refusals since it last made a partition.
    pub refusals: Refusals,
    /// The times that it usually takes.
    pub usual: UsualTimes,
    /// The hosts without jobs.
    pub hosts: ToldHosts,
    /// The partitions of its pool.
    pub pool: ObservedPool,
    /// The partitions that it shows as removed.
    shown_as_removed: ShownAsRemoved,
}

impl Default for ObservedController {
    /// A controller counts as answering until the first survey.
    fn default() -> Self {
        Self {
            answers: Cell::new(true),
            is_back: Notify::new(),
            refusals: Refusals::default(),
            usual: UsualTimes::default(),
            hosts: ToldHosts::default(),
            pool: ObservedPool::default(),
            shown_as_removed: ShownAsRemoved::default(),
        }
    }
}

/// Observations of the pool on a controller.
#[derive(Default)]
pub(crate) struct ObservedPool {
    /// The task that makes partitions.
    pub maker: RefCell<Option<AbortOnDropHandle<()>>>,
    /// The partitions that no job can get, each with the reason that the log has.
    pub unusable: RefCell<BTreeMap<PartitionId, Words>>,
    /// The partitions that could not be made, each with the reason that the log has.
    pub unmade: RefCell<BTreeMap<PartitionId, Words>>,
}

/// The longest time that a create waits for its turn. A call that hangs must not hold up all others.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A place in the order of first create calls on a controller. Dropping it gives it up.
pub(crate) struct PlaceInQueue {
    before: CancellationToken,
    _place: DropGuard,
}

impl PlaceInQueue {
    /// Waits until the controller has answered all earlier calls.
    pub async fn reached(&self) {
        // After this time it is the turn of this create in any case.
        let _ = timeout(LONGEST_WAIT, self.before.cancelled()).await;
    }
}

impl<C> PodInUse<C> {
    /// The partition that the controller has for one of ours: a shared one has a name of its own.
    pub fn on_controller<'a>(&'a self, tracked: &Tracked, partition: &'a PartitionId) -> &'a PartitionId {
        self.settings.shared.as_ref().filter(|_| tracked.stays.get()).unwrap_or(partition)
    }

    /// The next place in the order of create calls on this controller.
    ///
    /// Jobs that begin together are requested in that order. Otherwise the controller might break up the
    /// block of the first job for the next one.
    pub fn next_place(&self) -> PlaceInQueue {
        let place = CancellationToken::new();
        PlaceInQueue { before: self.last.replace(place.clone()), _place: place.drop_guard() }
    }

    /// Takes `setup` into use. Creates under way since `before` keep their permits, unless the limit changed.
    pub fn new(setup: PodSetup<C>, observed: Rc<ObservedController>, before: Option<&Self>) -> Self {
        let PodSetup { pod: id, settings, controller } = setup;
        let limit = settings.max_concurrent_creates;
        let slots = match before {
            Some(old) if old.settings.max_concurrent_creates == limit => Arc::clone(&old.slots),
            _ => Arc::new(Semaphore::new(limit.max(1))),
        };
        let nobody = CancellationToken::new();
        nobody.cancel();
        Self {
            id,
            settings,
            controller,
            slots,
            under_way: CreatesUnderWay::default(),
            observed,
            survey_wanted: Notify::new(),
            last: RefCell::new(nobody),
        }
    }
}

impl<C: Controller> PodInUse<C> {
    /// A Pod of the same model whose controller is not in the model's list. It may still have claims.
    pub fn beside(&self, id: PodId, observed: Rc<ObservedController>) -> Result<Self, Words> {
        let (settings, controller) = (self.settings.clone(), self.controller.beside(&id.controller)?);
        Ok(Self::new(PodSetup { pod: id, settings, controller }, observed, None))
    }

    /// The state of a partition, as by [`Controller::status`]. A partition that is shown as removed for too
    /// long is absent.
    pub async fn status(&self, partition: &PartitionId) -> Result<PartitionState, CallError> {
        let state = self.controller.status(partition).await?;
        Ok(self.observed.shown_as_removed.judge(&self.controller.name(), partition, state))
    }

    /// The listing, as by [`Controller::survey`], without partitions that are shown as removed for too long.
    /// One of `ours` that is missing from the listing does not count as gone.
    pub async fn survey(&self, ours: impl Fn(&PartitionId) -> bool) -> Result<Listing, CallError> {
        let mut listing = self.controller.survey(&self.settings).await?;
        self.observed.shown_as_removed.judge_all(&self.controller.name(), &mut listing, &ours);
        match &self.settings.shared {
            Some(shared) => self.in_shared(shared, listing, &ours),
            None => Ok(listing),
        }
    }

    /// The listing for jobs that share a partition: its IPUs are all that there are.
    fn in_shared(
        &self,
        shared: &PartitionId,
        listing: Listing,
        ours: &impl Fn(&PartitionId) -> bool,
    ) -> Result<Listing, CallError> {
        let (shared_one, mut others): (Vec<_>, Vec<_>) =
            listing.partitions.into_iter().partition(|seen| seen.partition == *shared);
        let (ipus, fault) = match shared_one.into_iter().next() {
            None => (0, Some("there is none of this name".into())),
            Some(seen) if seen.leaving => (0, Some("somebody is removing it".into())),
            Some(seen) => (seen.places.len(), seen.fault),
        };
        if let Some(fault) = fault {
            let cause = words!("partition {shared}, which all jobs share: {fault}");
            let message = words!("controller {}: {cause}", self.controller.name());
            return Err(CallError { failure: Failure::Refused, message, cause });
        }
        // Those of jobs from before the mode. Their IPUs are others.
        others.retain(|seen| ours(&seen.partition));
        others.iter_mut().for_each(|seen| seen.places.clear());
        let ipus = u32::try_from(ipus).unwrap_or(u32::MAX);
        Ok(Listing { ipus, partitions: others, ..Listing::default() })
    }
}
