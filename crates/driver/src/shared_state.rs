//! The state that all tasks of a driver share.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use ledger::Claim;
use vipu_types::{PartitionId, PodId, Words, words};

use crate::pod_in_use::{ObservedController, PodInUse};
use crate::resource::Health;
use crate::resource_probes::ResourceProbes;
use crate::tracked::{PartitionOwner, Tracked};
use crate::{Environment, LiveRecord, PodSetup};

pub(crate) struct SharedState<W: Environment> {
    pub environment: Rc<W>,
    pods: RefCell<BTreeMap<PodId, Rc<PodInUse<W::Controller>>>>,
    /// Pods that have claims but are not configured any more.
    unlisted: RefCell<BTreeMap<PodId, Rc<PodInUse<W::Controller>>>>,
    /// Observations of each controller that was ever in use.
    observed: RefCell<BTreeMap<PodId, Rc<ObservedController>>>,
    tracked_partitions: RefCell<HashMap<PartitionId, Rc<Tracked>>>,
    /// The resources that all jobs need.
    pub resources: Rc<ResourceProbes<W>>,
    /// Partitions without a job that are being handled.
    pub unclaimed: RefCell<HashSet<(PodId, PartitionId)>>,
}

impl<W: Environment> SharedState<W> {
    /// The state of a driver that knows the partitions of an earlier driver.
    pub fn new(environment: W, live: Vec<LiveRecord>) -> Self {
        let tracked = |record: LiveRecord| (record.claim.partition.clone(), Rc::new(Tracked::of(record)));
        let tracked_partitions = RefCell::new(live.into_iter().map(tracked).collect());
        let environment = Rc::new(environment);
        Self {
            resources: Rc::new(ResourceProbes::new(Rc::clone(&environment))),
            environment,
            pods: RefCell::default(),
            unlisted: RefCell::default(),
            observed: RefCell::default(),
            tracked_partitions,
            unclaimed: RefCell::default(),
        }
    }

    /// Takes new Pods into use.
    pub fn configure(&self, setups: Vec<PodSetup<W::Controller>>) {
        let mut pods = self.pods.borrow_mut();
        let before = std::mem::take(&mut *pods);
        for setup in setups {
            let id = setup.pod.clone();
            let pod = PodInUse::new(setup, self.observed(&id), before.get(&id).map(Rc::as_ref));
            pods.insert(id, Rc::new(pod));
        }
        self.unlisted.take();
        let directories = pods.iter().map(|(id, pod)| (id.model.clone(), pod.settings.ipuof_dir.clone()));
        let directories = directories.collect();
        drop(pods);
        self.resources.configure(directories);
    }

    /// The Pod of a claim. A controller that has left its model's list is treated like the others.
    pub fn pod(&self, claim: &Claim) -> Result<Rc<PodInUse<W::Controller>>, Words> {
        let id = claim.pod();
        let (pods, mut unlisted) = (self.pods.borrow(), self.unlisted.borrow_mut());
        if let Some(pod) = pods.get(&id).or_else(|| unlisted.get(&id)) {
            return Ok(Rc::clone(pod));
        }
        let other = pods.iter().find(|(known, _)| known.model == id.model);
        let (_, other) = other.ok_or_else(|| words!("model {} is not configured", id.model))?;
        let pod = Rc::new(other.beside(id.clone(), self.observed(&id))?);
        unlisted.insert(id, Rc::clone(&pod));
        Ok(pod)
    }

    fn observed(&self, id: &PodId) -> Rc<ObservedController> {
        Rc::clone(self.observed.borrow_mut().entry(id.clone()).or_default())
    }

    /// The Pod of a controller in its model's list.
    pub fn configured(&self, id: &PodId) -> Option<Rc<PodInUse<W::Controller>>> {
        self.pods.borrow().get(id).cloned()
    }

    /// Asks for a survey soon. Returns false if there is no such model.
    ///
    /// A controller outside the list may be in the list under another name. Then all controllers of its model
    /// are asked.
    pub fn survey(&self, id: &PodId) -> bool {
        let pods = self.pods.borrow();
        if let Some(pod) = pods.get(id) {
            pod.survey_wanted.notify_one();
            return true;
        }
        let of_model = pods.values().filter(|pod| pod.id.model == id.model);
        of_model.map(|pod| pod.survey_wanted.notify_one()).count() > 0
    }

    /// Whether a partition of this name without a job is being removed on any controller.
    pub fn is_seen_to(&self, partition: &PartitionId) -> bool {
        self.unclaimed.borrow().iter().any(|(_, other)| other == partition)
    }

    /// The tracked state of a partition. Tracking begins here if it has not yet.
    pub fn tracked(&self, partition: &PartitionId) -> Rc<Tracked> {
        let mut tracked_partitions = self.tracked_partitions.borrow_mut();
        Rc::clone(tracked_partitions.entry(partition.clone()).or_default())
    }

    /// The tracked state of a partition, if it is tracked.
    pub fn known(&self, partition: &PartitionId) -> Option<Rc<Tracked>> {
        self.tracked_partitions.borrow().get(partition).cloned()
    }

    /// The partitions that should exist on this Pod. A partition that may have files was up.
    pub fn partitions_of_ours(&self, id: &PodId) -> Vec<PartitionId> {
        let tracked_partitions = self.tracked_partitions.borrow();
        let ours = tracked_partitions.iter().filter(|(_, tracked)| {
            let is_of_pod = tracked.home.borrow().as_ref() == Some(id);
            is_of_pod && tracked.owner.get() == PartitionOwner::Ours && !tracked.fileless.get()
        });
        let mut ours: Vec<_> = ours.map(|(partition, _)| partition.clone()).collect();
        // The order makes a simulation repeatable.
        ours.sort();
        ours
    }

    /// Stops tracking a partition that is gone, unless another order waits for its turn.
    pub fn close(&self, partition: &PartitionId, tracked: Rc<Tracked>) {
        let ours_and_the_map = 2;
        if Rc::strong_count(&tracked) == ours_and_the_map {
            self.tracked_partitions.borrow_mut().remove(partition);
        }
    }

    /// All Pods of the configured models, each with the model's settings.
    pub fn listed(&self) -> Vec<Rc<PodInUse<W::Controller>>> {
        self.pods.borrow().values().cloned().collect()
    }

    /// The reason why no partition can be made on the claim's Pod under the present configuration.
    pub fn trouble_of(&self, claim: &Claim) -> Option<Rc<str>> {
        match self.resources.health(self.pod(claim).ok()?.settings.ipuof_dir.as_ref()) {
            Health::Trouble(words) => Some(words),
            Health::Well | Health::Unknown => None,
        }
    }
}
