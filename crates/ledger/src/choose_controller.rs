//! Which controller of a model has room now, or why none has.

use vipu_types::{ControllerName, IpuCount, ModelName, PodId};

use crate::model::Model;
use crate::pod::Pod;
use crate::{Action, Claim, HostAction, Ledger, ModelFacts, Wait};

impl Ledger {
    /// Whether jobs of this model can start, as far as that is not a matter of its controllers.
    ///
    /// # Errors
    /// Why none can.
    pub(crate) fn usable(&self, model: &Model) -> Result<(), Wait> {
        let ModelFacts { model: name, trouble, .. } = model.facts();
        match trouble.as_ref().or_else(|| self.troubles.get(name)) {
            Some(trouble) => Err(Wait::Trouble { model: name.clone(), trouble: trouble.clone() }),
            None => Ok(()),
        }
    }

    /// Why a partition cannot be made where this claim is, though it was asked for, if that is no job's
    /// fault.
    #[must_use]
    pub fn trouble_of(&self, claim: &Claim) -> Option<Wait> {
        let model = self.models.get(&claim.model)?;
        let of_pod = || self.pods.get(&claim.pod())?.trouble(&claim.model);
        self.usable(model).err().or_else(of_pod)
    }

    /// What all jobs of a model need is in trouble, or not any more.
    pub(crate) fn trouble(&mut self, name: ModelName, reason: Option<String>, todo: &mut Vec<Action>) {
        let before = self.largest_now(&name);
        match reason {
            Some(reason) => drop(self.troubles.insert(name.clone(), reason)),
            None => drop(self.troubles.remove(&name)),
        }
        if self.largest_now(&name) > before {
            todo.push(Action::Host(HostAction::KickScheduler));
        }
    }

    /// The first of the model's controllers, in their order, that can make a partition of this size now; or
    /// why none can.
    ///
    /// A forecast: the controller does the placing and may refuse all the same.
    /// Costs a look-up of the model, and for each controller asked a look-up and two comparisons.
    ///
    /// # Errors
    /// The reason to wait.
    pub fn fits_now(&self, model: &ModelName, size: IpuCount) -> Result<ControllerName, Wait> {
        let no_model =
            || Wait::NoModel { asked: model.clone(), known: self.models.keys().cloned().collect() };
        let model = self.models.get(model).ok_or_else(no_model)?;
        self.usable(model)?;
        let allowed = size.get() <= model.facts().largest;
        let mut with_room = self.reached(model).filter(|(_, pod)| size.get() <= pod.free_blocks().largest());
        match with_room.next() {
            Some((id, _)) if allowed => Ok(id.controller.clone()),
            _ => Err(self.shortage(model, size)),
        }
    }

    /// The largest number of IPUs that a job of this model could get now.
    pub(crate) fn largest_now(&self, model: &ModelName) -> u32 {
        let Some(model) = self.models.get(model).filter(|model| self.usable(model).is_ok()) else { return 0 };
        let largest = self.reached(model).map(|(_, pod)| pod.free_blocks().largest()).max();
        largest.unwrap_or(0).min(model.facts().largest)
    }

    /// Why no job of this model can start now, whatever its size.
    pub(crate) fn standstill(&self, model: &Model) -> Option<Wait> {
        self.usable(model).err().or_else(|| self.silence(model))
    }

    /// The Pods of a model whose controllers answer, and do not refuse all jobs, in their order.
    pub(crate) fn reached<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (&'a PodId, &'a Pod)> {
        let pods = model.pods().iter().filter_map(|id| Some((id, self.pods.get(id)?)));
        pods.filter(|(_, pod)| pod.is_reached() && !pod.refuses_all())
    }

    /// Why no controller of this model has room for this size.
    fn shortage(&self, model: &Model, size: IpuCount) -> Wait {
        if let Some(silence) = self.silence(model) {
            return silence;
        }
        let ModelFacts { model: name, largest: limit, .. } = model.facts();
        if size.get() > *limit {
            return Wait::OverLimit { model: name.clone(), size, largest: *limit };
        }
        let blocks =
            self.reached(model).map(|(_, pod)| (pod.free_blocks().free(), pod.free_blocks().largest()));
        let (free, largest) =
            blocks.fold((0, 0), |(sum, most), (free, largest)| (sum + free, most.max(largest)));
        let silent =
            model.pods().iter().filter_map(|id| self.pods.get(id)).filter(|pod| !pod.is_reached()).count();
        let kept = self.claims.tally().kept(name);
        Wait::Full { model: name.clone(), size, free, largest, kept, silent }
    }

    /// Why none of the model's controllers answers: of several the first that was asked in vain.
    fn silence(&self, model: &Model) -> Option<Wait> {
        if self.reached(model).next().is_some() {
            return None;
        }
        let mut reasons = model.pods().iter().filter_map(|id| self.pods.get(id)?.trouble(&id.model));
        let lost = reasons.find(|why| matches!(why, Wait::Unreachable { .. }));
        Some(lost.unwrap_or_else(|| Wait::NoAnswer { model: model.facts().model.clone() }))
    }
}
