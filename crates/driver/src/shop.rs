//! What all tasks of a driver share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ledger::Claim;
use vipu_types::{ModelName, PartitionId};

use crate::lane::{Lane, Owner};
use crate::model::{Model, ModelSetup};
use crate::survey::Surveyor;
use crate::{Entry, Journal, LiveRecord, Stage, World};

pub(crate) struct Shop<W: World> {
    pub world: W,
    models: RefCell<HashMap<ModelName, Rc<Model<W::Controller>>>>,
    lanes: RefCell<HashMap<PartitionId, Rc<Lane>>>,
    surveyors: RefCell<HashMap<ModelName, Surveyor>>,
}

impl<W: World> Shop<W> {
    /// A shop that knows the partitions of an earlier driver.
    pub fn new(world: W, live: Vec<LiveRecord>) -> Self {
        let lanes = live.into_iter().map(|record| {
            let lane = Lane::new(Owner::Us);
            lane.directory.replace(record.ipuof_dir.map(Into::into));
            if record.stage == Stage::Creating {
                lane.create_unanswered();
            }
            (record.claim.partition, Rc::new(lane))
        });
        Self {
            world,
            models: RefCell::default(),
            lanes: RefCell::new(lanes.collect()),
            surveyors: RefCell::default(),
        }
    }

    /// Takes new models into use, each with a survey at once.
    pub fn configure(self: &Rc<Self>, setups: Vec<ModelSetup<W::Controller>>) {
        let mut models = self.models.borrow_mut();
        let before = std::mem::take(&mut *models);
        for setup in setups {
            let name = setup.model.clone();
            let model = Model::new(setup, before.get(&name).map(Rc::as_ref));
            models.insert(name, Rc::new(model));
        }
        // Surveys of the old controllers end here, so that none answers for a new one.
        *self.surveyors.borrow_mut() =
            models.iter().map(|(name, model)| (name.clone(), Surveyor::start(self, name, model))).collect();
    }

    pub fn model(&self, name: &ModelName) -> Option<Rc<Model<W::Controller>>> {
        self.models.borrow().get(name).cloned()
    }

    /// Asks for a survey soon; false when there is no such model.
    pub fn survey(&self, name: &ModelName) -> bool {
        self.surveyors.borrow().get(name).map(Surveyor::wake).is_some()
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

    /// Forgets the lane of a partition that is gone, unless another order waits in it.
    pub fn close(&self, partition: &PartitionId, lane: Rc<Lane>) {
        let ours_and_the_map = 2;
        if Rc::strong_count(&lane) == ours_and_the_map {
            self.lanes.borrow_mut().remove(partition);
        }
    }

    /// Records what is not worth stopping for when it cannot be recorded: the worst is
    /// that the next slurmctld looks for something that is done already.
    pub async fn note(&self, entry: Entry, claim: &Claim) {
        if let Err(error) = self.world.journal().record(entry).await {
            tracing::error!("partition {} of {}: {error}", claim.partition, claim.run);
        }
    }
}
