//! What all tasks of a driver share.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use ledger::Claim;
use vipu_types::{PartitionId, PodId};

use crate::lane::{Lane, Owner};
use crate::pod::{Pod, PodSetup, Seen};
use crate::shared::Shared;
use crate::survey::Surveyor;
use crate::{LiveRecord, Stage, World};

/// How many create calls of an earlier slurmctld were never answered: seeing the effect of one, or a few, says nothing.
const NOBODY_COUNTED: u32 = 1 << 30;

pub(crate) struct Shop<W: World> {
    pub world: W,
    pods: RefCell<BTreeMap<PodId, Rc<Pod<W::Controller>>>>,
    /// Those that are not configured any more, but that claims are on.
    unlisted: RefCell<BTreeMap<PodId, Rc<Pod<W::Controller>>>>,
    /// Of each controller that was ever in use.
    seen: RefCell<BTreeMap<PodId, Rc<Seen>>>,
    lanes: RefCell<HashMap<PartitionId, Rc<Lane>>>,
    surveyors: RefCell<BTreeMap<PodId, Surveyor>>,
    /// What all jobs need.
    pub shared: Shared,
    /// Partitions that no job has and that are being seen to.
    pub unclaimed: RefCell<HashSet<(PodId, PartitionId)>>,
}

impl<W: World> Shop<W> {
    /// A shop that knows the partitions of an earlier driver.
    pub fn new(world: W, live: Vec<LiveRecord>) -> Self {
        let lanes = live.into_iter().map(|record| {
            let before = Some(record.claim.clone());
            let lane = Lane { before, ..Lane::new(Owner::Ours) };
            lane.home.replace(Some(record.claim.pod()));
            lane.directory.replace(record.ipuof_dir.map(Into::into));
            if matches!(record.stage, Stage::Creating | Stage::GivenUp) {
                lane.unanswered.set(NOBODY_COUNTED);
            }
            lane.unanswered_remove.set(matches!(record.stage, Stage::Removing | Stage::GivenUp));
            (record.claim.partition, Rc::new(lane))
        });
        Self {
            world,
            pods: RefCell::default(),
            unlisted: RefCell::default(),
            seen: RefCell::default(),
            lanes: RefCell::new(lanes.collect()),
            surveyors: RefCell::default(),
            shared: Shared::default(),
            unclaimed: RefCell::default(),
        }
    }

    /// Takes new Pods into use, each with a survey at once.
    pub fn configure(self: &Rc<Self>, setups: Vec<PodSetup<W::Controller>>) {
        let mut pods = self.pods.borrow_mut();
        let before = std::mem::take(&mut *pods);
        for setup in setups {
            let id = setup.pod.clone();
            let pod = Pod::new(setup, self.seen(&id), before.get(&id).map(Rc::as_ref));
            pods.insert(id, Rc::new(pod));
        }
        self.unlisted.take();
        // Surveys of the old controllers end here, so that none answers for a new one.
        *self.surveyors.borrow_mut() =
            pods.iter().map(|(id, pod)| (id.clone(), Surveyor::start(self, id, pod))).collect();
        drop(pods);
        self.probe_what_is_needed();
    }

    /// The Pod of a claim. A controller that is not in its model's list any more is dealt with as the others are.
    ///
    /// # Errors
    /// When the model is not configured; for people.
    pub fn pod(&self, claim: &Claim) -> Result<Rc<Pod<W::Controller>>, String> {
        let id = claim.pod();
        let (pods, mut unlisted) = (self.pods.borrow(), self.unlisted.borrow_mut());
        if let Some(pod) = pods.get(&id).or_else(|| unlisted.get(&id)) {
            return Ok(Rc::clone(pod));
        }
        let other = pods.iter().find(|(known, _)| known.model == id.model);
        let (_, other) = other.ok_or_else(|| format!("model {} is not configured", id.model))?;
        let pod = Rc::new(other.beside(&id.controller, self.seen(&id))?);
        unlisted.insert(id, Rc::clone(&pod));
        Ok(pod)
    }

    fn seen(&self, id: &PodId) -> Rc<Seen> {
        Rc::clone(self.seen.borrow_mut().entry(id.clone()).or_default())
    }

    /// Whether another controller of the model answers, and does not refuse whoever asks.
    pub fn has_other(&self, id: &PodId) -> bool {
        let works = |seen: &Seen| seen.answers.get() && !seen.refusals.refuses_all();
        let pods = self.pods.borrow();
        pods.iter().any(|(other, pod)| other != id && other.model == id.model && works(&pod.seen))
    }

    /// The Pod of a controller in its model's list.
    pub fn configured(&self, id: &PodId) -> Option<Rc<Pod<W::Controller>>> {
        self.pods.borrow().get(id).cloned()
    }

    /// Asks for a survey soon; false when there is no such model.
    ///
    /// A controller that is not in the list may be in it under another name: all of its model are asked.
    pub fn survey(&self, id: &PodId) -> bool {
        let surveyors = self.surveyors.borrow();
        if let Some(surveyor) = surveyors.get(id) {
            surveyor.wake();
            return true;
        }
        let of_model = surveyors.iter().filter(|(known, _)| known.model == id.model);
        of_model.map(|(_, surveyor)| surveyor.wake()).count() > 0
    }

    /// Whether somewhere one of this name, which no job has, is being removed.
    pub fn is_seen_to(&self, partition: &PartitionId) -> bool {
        self.unclaimed.borrow().iter().any(|(_, other)| other == partition)
    }

    /// The lane of a partition, a new one when it has none.
    pub fn lane(&self, partition: &PartitionId) -> Rc<Lane> {
        let mut lanes = self.lanes.borrow_mut();
        match lanes.get(partition) {
            Some(lane) => Rc::clone(lane),
            None => {
                let lane = Rc::new(Lane::new(Owner::Unknown));
                lanes.insert(partition.clone(), Rc::clone(&lane));
                lane
            }
        }
    }

    /// The lane of a partition, if it has one.
    pub fn known_lane(&self, partition: &PartitionId) -> Option<Rc<Lane>> {
        self.lanes.borrow().get(partition).cloned()
    }

    /// The partitions there should be on this Pod: they were up, as they may have files.
    pub fn partitions_of_ours(&self, id: &PodId) -> Vec<PartitionId> {
        let lanes = self.lanes.borrow();
        let ours = lanes.iter().filter(|(_, lane)| {
            let is_of_pod = lane.home.borrow().as_ref() == Some(id);
            is_of_pod && lane.owner.get() == Owner::Ours && !lane.fileless.get()
        });
        let mut ours: Vec<_> = ours.map(|(partition, _)| partition.clone()).collect();
        // For a simulation to be played again.
        ours.sort();
        ours
    }

    /// Forgets the lane of a partition that is gone, unless another order waits in it.
    pub fn close(&self, partition: &PartitionId, lane: Rc<Lane>) {
        let ours_and_the_map = 2;
        if Rc::strong_count(&lane) == ours_and_the_map {
            self.lanes.borrow_mut().remove(partition);
        }
    }

    /// All Pods of a list of models, each with the model's settings.
    pub fn listed(&self) -> BTreeMap<PodId, Rc<Pod<W::Controller>>> {
        self.pods.borrow().clone()
    }
}
