//! Models whose controllers have nodes of their own (`Nodes`): a job gets nodes and IPUs of one controller.
//!
//! Slurm tests a job on all nodes at once. Here each controller is tried alone: the nodes of the others are left out
//! before the stock selector is asked, and the test is repeated for the next controller. A job starts on the first
//! controller on which it can. A start in the future is the earliest on any controller.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ledger::{Seconds, Wish};
use vipu_types::{ControllerName, ModelName};

use crate::models::{Models, NodeOwners};
use crate::request::Resolved;
use crate::slurm::{Job, Test};

/// The controllers among whose nodes one test of a job may choose.
#[derive(Debug)]
pub(crate) struct Choice {
    /// All nodes of the test.
    nodes: Vec<u32>,
    owners: NodeOwners,
    /// The controllers that were not tried yet, with the one that is being tried.
    left: Vec<ControllerName>,
    /// The controller that is being tried.
    tried: Option<ControllerName>,
    /// Whether [`Self::left`] are not all controllers of the model.
    is_part: bool,
    /// The starts on the controllers that were tried. None if it is unknown.
    starts: Vec<(Option<Seconds>, ControllerName)>,
    /// Whether the next test is this one, repeated.
    is_repeated: bool,
    /// Whether the answer for the present controller is the answer to Slurm.
    is_last: bool,
}

impl Choice {
    /// The choice for a test. `owners` gives the controllers of nodes, and all controllers. `earlier` is what the
    /// test before has left. None if the nodes of the model are those of all its controllers.
    pub(crate) fn of(
        owners: impl FnOnce() -> Option<(NodeOwners, Vec<ControllerName>)>,
        earlier: Option<Self>,
        test: &mut impl Test,
    ) -> Option<Self> {
        if let Some(repeated) = earlier.filter(|it| it.is_repeated) {
            test.put_back(&repeated.nodes);
            return Some(Self { is_repeated: false, ..repeated });
        }
        let (owners, all) = owners()?;
        let nodes = test.chosen();
        let left = with_enough(&nodes, &owners, &all, test.fewest());
        let (is_part, is_last) = (left.len() < all.len(), left.len() == 1);
        Some(Self {
            nodes,
            owners,
            left,
            tried: None,
            is_part,
            starts: Vec::new(),
            is_repeated: false,
            is_last,
        })
    }

    /// The controllers that the job may use, for its wish.
    pub(crate) fn controllers(&self) -> BTreeSet<ControllerName> {
        self.left.iter().cloned().collect()
    }

    /// Tries this controller.
    pub(crate) fn try_one(&mut self, controller: ControllerName) {
        self.tried = Some(controller);
    }

    /// Leaves out the nodes of all controllers but that which is tried: the first one, if none was chosen.
    pub(crate) fn leave_out_others(&mut self, test: &mut impl Test) {
        let tried = self.tried.get_or_insert_with(|| self.left[0].clone());
        let is_other = |node: &&u32| self.owners.get(node) != Some(tried);
        let others: Vec<_> = self.nodes.iter().filter(is_other).copied().collect();
        test.leave_out(&others);
    }

    /// Gives Slurm the nodes of the test back, after a no.
    pub(crate) fn put_back(&self, test: &mut impl Test) {
        test.put_back(&self.nodes);
    }

    /// The wish with the controller that is tried.
    pub(crate) fn on_tried(&self, wish: Wish) -> Wish {
        Wish { controllers: Some(self.tried.iter().cloned().collect()), ..wish }
    }

    /// Whether the starts on other controllers still have to be looked at.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Notes the start on the controller that was tried.
    pub(crate) fn note_start(&mut self, start: Option<Seconds>) {
        self.starts.extend(self.tried.clone().map(|tried| (start, tried)));
    }

    /// The choice for the test, repeated: among the controllers that were not tried yet, or then on the one with the
    /// earliest start. None if there are no more.
    pub(crate) fn next(mut self) -> Option<Self> {
        let tried = self.tried.take();
        self.left.retain(|it| Some(it) != tried.as_ref());
        if self.left.is_empty() && !self.is_last {
            let starts = self.starts.drain(..);
            let earliest = starts.min_by_key(|(start, _)| start.map_or(i64::MAX, |start| start.0));
            self.left.extend(earliest.map(|(_, controller)| controller));
            self.is_last = true;
        }
        (!self.left.is_empty()).then_some(Self { is_part: true, is_repeated: true, ..self })
    }

    /// A reason to wait, with the controllers that it is about.
    fn reason(&self, why: String) -> String {
        if self.is_part { on(why, &self.left) } else { why }
    }
}

/// A reason to wait, with the controllers that it is about unless it is about all.
pub(crate) fn reason(choice: Option<&Choice>, why: String) -> String {
    match choice {
        Some(choice) => choice.reason(why),
        None => why,
    }
}

/// A reason to wait, with the controllers that the wish names unless these are all of the model.
pub(crate) fn about(models: &Models, wish: &Wish, why: String) -> String {
    let all = models.owners(&wish.model).map(|(_, all)| all.len());
    match &wish.controllers {
        Some(some) if all.is_some_and(|all| some.len() < all) => on(why, some),
        _ => why,
    }
}

fn on<'a>(why: String, controllers: impl IntoIterator<Item = &'a ControllerName>) -> String {
    let names: Vec<_> = controllers.into_iter().map(ControllerName::to_string).collect();
    format!("{why}, on {}", names.join(" and "))
}

/// The wish with the controllers that the job may use.
pub(crate) fn limited(choice: Option<&Choice>, wish: Wish) -> Wish {
    Wish { controllers: choice.map(Choice::controllers), ..wish }
}

/// The fewest jobs that have to go for a wish, as `find` tells them for one controller or, without a choice, for all.
pub(crate) fn fewest(
    choice: Option<&mut Choice>,
    wish: &Wish,
    mut find: impl FnMut(&Wish) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let Some(choice) = choice else { return find(wish) };
    let on = |controller: &ControllerName| {
        let one = Wish { controllers: Some(BTreeSet::from([controller.clone()])), ..wish.clone() };
        Some((find(&one)?, controller.clone()))
    };
    let (jobs, controller) = choice.left.iter().filter_map(on).min_by_key(|(jobs, _)| jobs.len())?;
    choice.try_one(controller);
    Some(jobs)
}

/// The controllers with at least this number of these nodes, in their order. If no controller has as many, the one
/// with most, so that the stock selector says no for want of nodes.
fn with_enough(
    nodes: &[u32],
    owners: &NodeOwners,
    all: &[ControllerName],
    fewest: u32,
) -> Vec<ControllerName> {
    let mut counts: BTreeMap<&ControllerName, usize> = BTreeMap::new();
    nodes.iter().filter_map(|node| owners.get(node)).for_each(|owner| *counts.entry(owner).or_default() += 1);
    let count = |controller: &ControllerName| counts.get(controller).copied().unwrap_or(0);
    let enough = |controller: &&ControllerName| count(controller) >= (fewest as usize).max(1);
    let found: Vec<_> = all.iter().filter(enough).cloned().collect();
    if !found.is_empty() {
        return found;
    }
    all.iter().rev().max_by_key(|controller| count(controller)).cloned().into_iter().collect()
}

impl Models {
    /// The controllers of nodes, and the controllers in their order. None if jobs on any node get IPUs of any
    /// controller.
    pub(crate) fn owners(&self, model: &ModelName) -> Option<(NodeOwners, Vec<ControllerName>)> {
        let model = self.0.get(model)?;
        Some((Arc::clone(model.owners.as_ref()?), model.settings.as_ref()?.controllers.clone()))
    }

    /// The controller to which these nodes belong. None if jobs on any node get IPUs of any controller.
    ///
    /// # Errors
    /// The reason why a job on these nodes gets no IPUs of the model.
    pub(crate) fn owner(&self, model: &ModelName, nodes: &[u32]) -> Result<Option<ControllerName>, String> {
        let Some((owners, _)) = self.owners(model) else { return Ok(None) };
        let found: BTreeSet<_> = nodes.iter().map(|node| owners.get(node)).collect();
        match &found.into_iter().collect::<Vec<_>>()[..] {
            [Some(one)] => Ok(Some((*one).clone())),
            [] => Err("it has no nodes".to_owned()),
            several if several.contains(&None) => {
                Err(format!("Nodes= of {model} gives one of its nodes to no controller"))
            }
            several => {
                let names: Vec<_> = several.iter().flatten().map(|it| it.to_string()).collect();
                Err(format!(
                    "Nodes= of {model} gives its nodes to different controllers: {}",
                    names.join(", ")
                ))
            }
        }
    }

    /// The reason why no job can have so many nodes of a model at the same time. None if it can.
    pub(crate) fn too_many_nodes(&self, model: &ModelName, fewest: u32) -> Option<String> {
        let (owners, all) = self.owners(model)?;
        let count =
            |controller: &ControllerName| owners.values().filter(|owner| *owner == controller).count();
        let most = all.iter().map(count).max().unwrap_or(0);
        (most < fewest as usize).then(|| {
            format!(
                "vipu: no controller of {model} has {fewest} nodes, {most} at most: a job gets nodes of one"
            )
        })
    }
}

/// The reason why a job never gets its nodes together: no controller has as many.
pub(crate) fn never(models: &Models, job: impl Job, wanted: &Resolved, test: &impl Test) -> Option<String> {
    let why = models.too_many_nodes(&wanted.model, test.fewest())?;
    tracing::info!("job {} is refused: {why}", job.id());
    Some(why)
}
