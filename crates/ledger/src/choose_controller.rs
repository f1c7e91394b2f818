//! The choice of a controller with room, or the reason why none has room.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use vipu_types::{ControllerName, IpuCount, ModelName, PodId, Words};

use crate::free_blocks::FreeBlocks;
use crate::model::Model;
use crate::pod::Pod;
use crate::waiting_line::is_among;
use crate::{Action, Claim, HostAction, Ledger, ModelFacts, Wait, Wish};

/// The controllers that a job may use. None: all of its model.
pub(crate) type Among<'a> = Option<&'a BTreeSet<ControllerName>>;

impl Ledger {
    /// Whether jobs of this model can start, as far as this does not depend on its controllers.
    ///
    /// # Errors
    /// The reason why none can.
    pub(crate) fn usable(&self, model: &Model) -> Result<(), Wait> {
        let ModelFacts { model: name, trouble, .. } = model.facts();
        match trouble.as_ref().or_else(|| self.troubles.get(name)) {
            Some(trouble) => Err(Wait::Trouble { model: name.clone(), trouble: trouble.clone() }),
            None => Ok(()),
        }
    }

    /// The reason why the partition of this claim cannot be made, if there is one that is no job's fault.
    pub fn trouble_of(&self, claim: &Claim) -> Option<Wait> {
        let model = self.models.get(&claim.model)?;
        let of_pod = || self.pods.get(&claim.pod())?.trouble(&claim.model);
        self.usable(model).err().or_else(of_pod)
    }

    /// Sets or clears the trouble of a model.
    pub(crate) fn trouble(&mut self, name: ModelName, reason: Option<Words>, todo: &mut Vec<Action>) {
        let before = self.largest_now(&name);
        match reason {
            Some(reason) => drop(self.troubles.insert(name.clone(), reason)),
            None => drop(self.troubles.remove(&name)),
        }
        self.kick_if_more_fits(&name, before, todo);
    }

    /// Wakes the scheduler if a job of this model could get more IPUs than before.
    pub(crate) fn kick_if_more_fits(&self, model: &ModelName, before: u32, todo: &mut Vec<Action>) {
        if self.largest_now(model) > before {
            todo.push(Action::Host(HostAction::KickScheduler));
        }
    }

    /// The first controller of the model that can make a partition of this size now.
    ///
    /// The answer is a forecast, because the controller chooses the IPUs and may still refuse. The cost is a
    /// look-up of the model, and a look-up and two comparisons for each controller asked.
    ///
    /// # Errors
    /// The reason to wait.
    pub fn fits_now(&self, model: &ModelName, size: IpuCount) -> Result<ControllerName, Wait> {
        self.first_with_room(model, size, None)
    }

    /// The answer of [`Ledger::fits_now`] for a job, of the controllers that it may use.
    ///
    /// # Errors
    /// The reason to wait.
    pub fn room_for(&self, wish: &Wish) -> Result<ControllerName, Wait> {
        self.first_with_room(&wish.model, wish.size, wish.controllers.as_ref())
    }

    /// The IPUs of all Pods of a model, if they cannot have partitions of all these sizes together. None if they can, or
    /// if a Pod was not reached yet.
    pub fn too_few_together(&self, model: &ModelName, mut sizes: Vec<IpuCount>) -> Option<u32> {
        let pods =
            self.models.get(model)?.pods().iter().map(|id| self.pods.get(id).filter(|pod| pod.is_reached()));
        let empty = |pod: &Pod| FreeBlocks::new(pod.hardware().ipus, pod.layout(), []);
        let mut empty = pods.map(|pod| pod.map(empty)).collect::<Option<Vec<_>>>()?;
        let all = empty.iter().map(FreeBlocks::free).sum();
        sizes.sort_unstable_by_key(|size| Reverse(*size));
        let fit = sizes.into_iter().all(|size| {
            let pod = empty.iter_mut().find(|blocks| blocks.first_for(size).is_some());
            pod.map(|blocks| blocks.take(size, &mut |_| {})).is_some()
        });
        // A Pod whose controller knows no IPUs is not set up yet.
        (!fit && all > 0).then_some(all)
    }

    fn first_with_room(
        &self,
        model: &ModelName,
        size: IpuCount,
        among: Among<'_>,
    ) -> Result<ControllerName, Wait> {
        let no_model =
            || Wait::NoModel { asked: model.clone(), known: self.models.keys().cloned().collect() };
        let model = self.models.get(model).ok_or_else(no_model)?;
        self.usable(model)?;
        let allowed = size.get() <= model.facts().largest;
        let mut with_room =
            self.reached_among(model, among).filter(|(_, pod)| pod.free_blocks().has_room_for(size));
        match with_room.next() {
            Some((id, _)) if allowed => Ok(id.controller.clone()),
            _ => Err(self.shortage(model, size, among)),
        }
    }

    /// The largest number of IPUs that a job of this model could get now.
    pub(crate) fn largest_now(&self, model: &ModelName) -> u32 {
        let Some(model) = self.models.get(model).filter(|model| self.usable(model).is_ok()) else { return 0 };
        let largest = self.reached(model).map(|(_, pod)| pod.free_blocks().largest()).max();
        largest.unwrap_or(0).min(model.facts().largest)
    }

    /// The reason why no job of this model can start now, whatever its size.
    pub(crate) fn standstill(&self, model: &Model) -> Option<Wait> {
        self.usable(model).err().or_else(|| self.silence(model, None))
    }

    fn reached_among<'a>(
        &'a self,
        model: &'a Model,
        among: Among<'a>,
    ) -> impl Iterator<Item = (&'a PodId, &'a Pod)> {
        self.pods_among(model, among).filter(|(_, pod)| pod.is_reached() && pod.refusing.is_none())
    }

    /// The Pods of a model that a job may use, in their order.
    pub(crate) fn pods_among<'a>(
        &'a self,
        model: &'a Model,
        among: Among<'a>,
    ) -> impl Iterator<Item = (&'a PodId, &'a Pod)> {
        let allowed = model.pods().iter().filter(move |id| is_among(&id.controller, among));
        allowed.filter_map(|id| Some((id, self.pods.get(id)?)))
    }

    /// The Pods of a model whose controllers answer and do not refuse all jobs, in their order.
    pub(crate) fn reached<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (&'a PodId, &'a Pod)> {
        self.reached_among(model, None)
    }

    /// The reason why no controller of this model has room for this size.
    fn shortage(&self, model: &Model, size: IpuCount, among: Among<'_>) -> Wait {
        if let Some(silence) = self.silence(model, among) {
            return silence;
        }
        let ModelFacts { model: name, largest: limit, .. } = model.facts();
        if size.get() > *limit {
            return Wait::OverLimit { model: name.clone(), size, largest: *limit };
        }
        if let Some(reason) = self.reason_to_drain(model, among) {
            return Wait::Drained { model: name.clone(), reason };
        }
        if model.facts().is_pool {
            let sizes = self.pool_sizes(name).into_iter().collect();
            return Wait::PoolFull {
                model: name.clone(),
                size,
                sizes,
                there_is: self.pool_serves(name, size),
            };
        }
        let blocks = self
            .reached_among(model, among)
            .map(|(_, pod)| (pod.free_blocks().free(), pod.free_blocks().largest()));
        let (free, largest) =
            blocks.fold((0, 0), |(sum, most), (free, largest)| (sum + free, most.max(largest)));
        let silent = self.pods_among(model, among).filter(|(_, pod)| !pod.is_reached()).count();
        let kept = self.claims.counts().kept_ipus(name);
        let drained = self.reached_among(model, among).map(|(_, pod)| pod.drained_ipus()).sum();
        Wait::Full { model: name.clone(), size, free, largest, kept, drained, silent }
    }

    /// The reason why all controllers of the model that answer are drained: that of the first one.
    fn reason_to_drain(&self, model: &Model, among: Among<'_>) -> Option<String> {
        let mut reasons = self.reached_among(model, among).map(|(id, _)| self.drains.reason_for_all_of(id));
        let first = reasons.next()??;
        reasons.all(|reason| reason.is_some()).then(|| first.to_owned())
    }

    /// The reason why no controller of the model answers. Of several reasons, that of the first silent
    /// controller.
    fn silence(&self, model: &Model, among: Among<'_>) -> Option<Wait> {
        if self.reached_among(model, among).next().is_some() {
            return None;
        }
        let mut reasons = self.pods_among(model, among).filter_map(|(id, pod)| pod.trouble(&id.model));
        let lost = reasons.find(|why| matches!(why, Wait::Unreachable { .. }));
        Some(lost.unwrap_or_else(|| Wait::NoAnswer { model: model.facts().model.clone() }))
    }
}
