//! The choice of nodes and IPUs that belong together ([`Cabling`]).
//!
//! Slurm tests a job on all nodes at once. Here each group is tried alone: all other nodes are left out before the
//! stock selector is asked, and the test is repeated for the next group. A job starts on the first group on which it
//! can. A start in the future is the earliest on any group.

use std::collections::BTreeSet;
use std::sync::Arc;

use ledger::{Seconds, Wish};
use vipu_types::{ControllerName, ModelName, Reason, Words, words};

use crate::cabling::{Cabling, GroupIpus, NodeGroup};
use crate::models::Models;
use crate::request::Resolved;
use crate::slurm::Test;

/// The groups among whose nodes one test of a job may choose.
#[derive(Debug)]
pub(crate) struct Choice {
    /// All nodes of the test.
    nodes: Vec<u32>,
    /// The groups that were not tried yet, with the one that is being tried.
    left: Vec<NodeGroup>,
    /// The group that is being tried.
    tried: Option<NodeGroup>,
    /// Whether [`Self::left`] are not all controllers of the model.
    is_part: bool,
    /// The starts on the groups that were tried. None if it is unknown.
    starts: Vec<(Option<Seconds>, NodeGroup)>,
    /// Whether the next test is this one, repeated.
    is_repeated: bool,
    /// Whether the answer for the present group is the answer to Slurm.
    is_last: bool,
}

impl Choice {
    /// The choice for a test. `earlier` is what the test before has left, `prepared` the controller of a partition that is
    /// made for the job already. None if jobs on any node get IPUs of any controller, or if no nodes fit the job at all.
    pub(crate) fn of(
        models: &Models,
        wanted: &Resolved,
        prepared: impl FnOnce() -> Option<ControllerName>,
        earlier: Option<Self>,
        test: &mut impl Test,
    ) -> Option<Self> {
        if let Some(repeated) = earlier.filter(|it| it.is_repeated) {
            test.put_back(&repeated.nodes);
            return Some(Self { is_repeated: false, ..repeated });
        }
        let (cabling, all) = models.cabling(&wanted.model)?;
        let nodes = test.chosen();
        let left = with_prepared(cabling.groups(&all, wanted.size, &nodes, test.fewest()), prepared());
        if left.is_empty() {
            return None;
        }
        let (is_part, is_last) = (left.len() < all.len(), left.len() == 1);
        Some(Self { nodes, left, tried: None, is_part, starts: Vec::new(), is_repeated: false, is_last })
    }

    /// The groups that may be tried.
    pub(crate) fn groups(&self) -> &[NodeGroup] {
        &self.left
    }

    /// Whether nodes of this controller may be tried.
    pub(crate) fn has(&self, controller: &ControllerName) -> bool {
        self.left.iter().any(|group| group.controller() == Some(controller))
    }

    /// Tries the group with these IPUs.
    pub(crate) fn try_ipus(&mut self, ipus: &GroupIpus) {
        self.tried = self.left.iter().find(|group| group.ipus == *ipus).cloned();
    }

    /// The IPUs of the group that is tried.
    pub(crate) fn tried(&self) -> Option<&GroupIpus> {
        Some(&self.tried.as_ref()?.ipus)
    }

    /// Leaves out the nodes of all groups but that which is tried: the first one, if none was chosen.
    pub(crate) fn leave_out_others(&mut self, test: &mut impl Test) {
        self.tried = self.tried.take().or_else(|| self.left.first().cloned());
        let own: BTreeSet<u32> = self.tried.iter().flat_map(|tried| &tried.nodes).copied().collect();
        let others: Vec<_> = self.nodes.iter().filter(|node| !own.contains(node)).copied().collect();
        test.leave_out(&others);
    }

    /// Gives Slurm the nodes of the test back, after a no.
    pub(crate) fn put_back(&self, test: &mut impl Test) {
        test.put_back(&self.nodes);
    }

    /// Whether the starts on other groups need not be looked at any more.
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Notes the start on the group that was tried.
    pub(crate) fn note_start(&mut self, start: Option<Seconds>) {
        self.starts.extend(self.tried.clone().map(|tried| (start, tried)));
    }

    /// The choice for the test, repeated: among the groups that were not tried yet, or then on the one with the
    /// earliest start. None if there are no more.
    pub(crate) fn next(mut self) -> Option<Self> {
        let tried = self.tried.take();
        self.left.retain(|it| Some(it) != tried.as_ref());
        if self.left.is_empty() && !self.is_last {
            let starts = self.starts.drain(..);
            let earliest = starts.min_by_key(|(start, _)| start.map_or(i64::MAX, |start| start.0));
            self.left.extend(earliest.map(|(_, group)| group));
            self.is_last = true;
        }
        (!self.left.is_empty()).then_some(Self { is_part: true, is_repeated: true, ..self })
    }

    /// A reason to wait, with the controllers that it is about.
    fn reason(&self, why: Reason) -> Reason {
        let left: Vec<_> = self.left.iter().filter_map(NodeGroup::controller).collect();
        if self.is_part && !left.is_empty() { on(why, left) } else { why }
    }
}

/// The groups for a job whose partition is prepared on this controller: only its nodes, if it has enough of them.
fn with_prepared(groups: Vec<NodeGroup>, prepared: Option<ControllerName>) -> Vec<NodeGroup> {
    let is_of = |group: &&NodeGroup| group.controller().is_some() && group.controller() == prepared.as_ref();
    let own: Vec<_> = groups.iter().filter(is_of).cloned().collect();
    if own.is_empty() { groups } else { own }
}

/// A reason to wait, with the controllers that it is about unless it is about all.
pub(crate) fn reason(choice: Option<&Choice>, why: Reason) -> Reason {
    match choice {
        Some(choice) => choice.reason(why),
        None => why,
    }
}

/// A reason to wait, with the controllers that the wish names unless these are all of the model.
pub(crate) fn about(models: &Models, wish: &Wish, why: Reason) -> Reason {
    let all = models.cabling(&wish.model).map(|(_, all)| all.len());
    match &wish.controllers {
        Some(some) if all.is_some_and(|all| some.len() < all) => on(why, some),
        _ => why,
    }
}

fn on<'a>(why: Reason, controllers: impl IntoIterator<Item = &'a ControllerName>) -> Reason {
    let names: Vec<_> = controllers.into_iter().map(ControllerName::to_string).collect();
    why.telling(|line| format!("{line}, on {}", names.join(" and ")))
}

impl Models {
    /// The IPUs of nodes, and the controllers in their order. None if jobs on any node get IPUs of any controller.
    pub(crate) fn cabling(&self, model: &ModelName) -> Option<(Arc<Cabling>, Vec<ControllerName>)> {
        let model = self.0.get(model)?;
        Some((Arc::clone(model.cabling.as_ref()?), model.settings.as_ref()?.controllers.clone()))
    }

    /// The IPUs that belong to the nodes of a job. None if jobs on any node get IPUs of any controller.
    ///
    /// # Errors
    /// The reason why a job on these nodes gets no IPUs of the model.
    pub(crate) fn ipus_of(&self, wanted: &Resolved, nodes: &[u32]) -> Result<Option<GroupIpus>, Words> {
        let Some((cabling, _)) = self.cabling(&wanted.model) else { return Ok(None) };
        let found = cabling.of_nodes(nodes).map_err(|why| words!("{why} (model {})", wanted.model))?;
        match &found {
            GroupIpus::Block(ipus) if ipus.len() != wanted.size.get() as usize => Err(words!(
                "they have {} IPUs of {}, the job asks for {}",
                ipus.len(),
                wanted.model,
                wanted.size
            )),
            GroupIpus::Of(_) | GroupIpus::Block(_) => Ok(Some(found)),
        }
    }

    /// The reason why a job can never get nodes and IPUs that belong together. None if it can.
    pub(crate) fn never_together(&self, wanted: &Resolved, test: &impl Test) -> Option<Reason> {
        let (cabling, all) = self.cabling(&wanted.model)?;
        let (model, fewest) = (&wanted.model, test.fewest());
        // The stock selector says no if too few of the nodes have IPUs of one partition.
        let most = cabling.most_nodes(&all).filter(|most| *most < fewest as usize)?;
        let line = format!(
            "vipu: no controller of {model} has {fewest} nodes, {most} at most: a job gets nodes of one"
        );
        Some(Reason::new("vipu: no controller has so many nodes", line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sched_nodes_of_a_prepared_partition_are_those_of_its_controller() {
        let name = |name: &str| ControllerName::new(name, 8090).unwrap();
        let group =
            |nodes: &[u32], of: &str| NodeGroup { nodes: nodes.to_vec(), ipus: GroupIpus::Of(name(of)) };
        let both = || vec![group(&[1, 2], "one"), group(&[3, 4], "two")];
        assert_eq!(with_prepared(both(), None), both());
        assert_eq!(with_prepared(both(), Some(name("two"))), [group(&[3, 4], "two")]);
        assert_eq!(with_prepared(both(), Some(name("three"))), both(), "the partition cannot be used now");
    }
}
