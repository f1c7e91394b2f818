//! What a scheduler asks: may this job start, when could it, and who would have to go for it.

use std::collections::HashMap;

use vipu_types::{ControllerName, ModelName, PodId};

use crate::model::Model;
use crate::outlook::{Fate, NEVER, Outlook};
use crate::plan::{Jobs, Seconds, Wish};
use crate::pod::Pod;
use crate::tenancy::Tenancy;
use crate::{Ledger, Place, Placement, Wait};

/// A running job that Slurm would let another preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The job.
    pub job: u32,
    /// It was told to go already.
    pub dying: bool,
}

impl Candidate {
    /// What becomes of its IPUs, as the candidate of this number.
    fn fate(self, number: usize) -> Fate {
        if self.dying { Fate::Free } else { Fate::Candidate(number) }
    }
}

/// What was worked out of each model, to be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlooks(HashMap<ModelName, Known>);

/// A model as of one state of the ledger.
#[derive(Clone, Debug)]
struct Known {
    /// [`Ledger::events`] at that time.
    events: u64,
    /// Of its usable Pods.
    tenancies: Vec<Tenancy>,
    outlook: Outlook,
    /// The second that the outlook is for; none when plans have changed since.
    at: Option<Seconds>,
}

impl Outlooks {
    /// A wish is new or another.
    fn changed(&mut self, wish: &Wish) {
        if let Some(known) = self.0.get_mut(&wish.model)
            && known.outlook.minds(wish)
        {
            known.at = None;
        }
    }
}

impl Ledger {
    /// Whether a job may start now, and on which controller: a partition of its size fits, and no job before it
    /// in line has to wait longer for that, wherever the controller puts it.
    ///
    /// Whoever has to wait for IPUs is in line from then on: [`Ledger::plan`].
    ///
    /// # Errors
    /// The reason to wait.
    pub fn may_start(&mut self, wish: &Wish, jobs: &impl Jobs) -> Result<ControllerName, Wait> {
        let verdict = self.why_not_now(wish, jobs);
        if let Err(why) = &verdict
            && why.is_for_room()
        {
            self.note(wish, None, jobs);
            self.put_behind(wish, why);
        }
        verdict
    }

    /// The same for a job that is only asked about.
    ///
    /// # Errors
    /// The reason to wait.
    pub fn why_not_now(&mut self, wish: &Wish, jobs: &impl Jobs) -> Result<ControllerName, Wait> {
        let first = match self.fits_now(&wish.model, wish.size) {
            Ok(first) => first,
            Err(why) => return self.may_ask(wish, jobs).ok_or(why),
        };
        if self.plans.nobody_before(wish) {
            return Ok(first);
        }
        let fitting: Vec<_> = self
            .usable_pods(&wish.model)
            .enumerate()
            .filter(|(_, (_, pod))| pod.capacity().largest() >= wish.size.get())
            .map(|(n, (id, _))| (n, id.controller.clone()))
            .collect();
        let is_explicit = self.is_explicit(&wish.model);
        let (outlook, now) = (self.outlook(&wish.model, jobs), jobs.now().0);
        let mut in_the_way = Vec::new();
        for (n, controller) in fitting {
            let harmless = match is_explicit {
                true => outlook.harmless_place(n, wish, now).map(drop),
                false => outlook.leaves_alone(n, wish, now),
            };
            match harmless {
                Ok(()) => return Ok(controller),
                Err(job) => in_the_way.push(job),
            }
        }
        let soonest = in_the_way.into_iter().min_by_key(|job| outlook.start_of(*job).unwrap_or(NEVER));
        let job = soonest.unwrap_or(wish.job());
        Err(Wait::Planned { model: wish.model.clone(), job })
    }

    /// Whether configuration has us choose the IPUs of partitions.
    fn is_explicit(&self, model: &ModelName) -> bool {
        self.models.get(model).is_some_and(|model| model.facts().placement == Placement::Explicit)
    }

    /// Whom a job has to let start first that waits because nobody knows where it would be put. Its plan is laid behind
    /// that one's from now on.
    fn put_behind(&mut self, wish: &Wish, why: &Wait) -> Option<u32> {
        let behind = match why {
            Wait::Planned { job, .. } if !self.is_explicit(&wish.model) => Some(*job),
            _ => None,
        };
        if self.plans.set_behind(wish.job(), behind) {
            self.outlooks.changed(wish);
        }
        behind
    }

    /// Which IPUs of a controller a job that may start shall have, breaking up as little as possible; none, and so
    /// the controller's choice, where configuration leaves it that or no place is known to be free.
    pub fn place(&mut self, wish: &Wish, controller: &ControllerName, jobs: &impl Jobs) -> Vec<Place> {
        let facts = self.models.get(&wish.model).map(Model::facts);
        let Some(facts) = facts.filter(|facts| facts.placement == Placement::Explicit) else { return vec![] };
        let domain_size = facts.domain_size;
        let number = self.usable_pods(&wish.model).position(|(id, _)| id.controller == *controller);
        let Some(n) = number else { return vec![] };
        let found = self.outlook(&wish.model, jobs).harmless_place(n, wish, jobs.now().0);
        let place = |ipu: usize| Place::numbered(ipu, domain_size);
        found.unwrap_or_default().into_iter().flatten().map(place).collect()
    }

    /// When a job could start, not before `from`, if all before it in line start when they can: now exactly when it
    /// may. `None` when nobody can say: controllers do not answer, or others have the IPUs.
    pub fn forecast(&mut self, wish: &Wish, from: Seconds, jobs: &impl Jobs) -> Option<Seconds> {
        let (now, from) = (jobs.now(), from.max(jobs.now()));
        let behind = if from == now {
            let Err(why) = self.why_not_now(wish, jobs) else { return Some(now) };
            self.put_behind(wish, &why)
        } else {
            self.plans.behind(wish.job())
        };
        let outlook = self.outlook(&wish.model, jobs);
        // There may be a slot before that, but nobody knows whether it would get that one.
        let not_before = behind.map(|first| outlook.start_of(first).unwrap_or(now.0).max(now.0 + 1));
        outlook.start(wish, not_before.map_or(from.0, |later| later.max(from.0))).map(Seconds)
    }

    /// Puts a job in line, or says that it still is: from now on nobody behind it may make it wait longer.
    ///
    /// `not_before` is when all else that it needs is free. The plan goes when the job begins, is not waiting any
    /// more, or was not looked at for [`Jobs::patience`]. Returns its [forecast](Ledger::forecast).
    pub fn plan(&mut self, wish: &Wish, not_before: Seconds, jobs: &impl Jobs) -> Option<Seconds> {
        self.note(wish, Some(not_before), jobs);
        let start = self.forecast(wish, not_before, jobs);
        self.plans.tell(wish.job(), start);
        // The scheduler may expect it later by the next question.
        self.outlooks.changed(wish);
        start
    }

    fn note(&mut self, wish: &Wish, not_before: Option<Seconds>, jobs: &impl Jobs) {
        if self.plans.note(wish.clone(), not_before, jobs.now(), jobs.patience()) {
            self.outlooks.changed(wish);
        }
    }

    /// The fewest of the `candidates` whose partitions would have to go for the job to have its own; none when
    /// what is on its way out already suffices. `None` when even all of them do not help.
    pub fn victims(&mut self, wish: &Wish, candidates: &[Candidate], jobs: &impl Jobs) -> Option<Vec<u32>> {
        let numbered = candidates.iter().enumerate();
        let fate_of_job = numbered.map(|(n, candidate)| (candidate.job, candidate.fate(n))).collect();
        let known = self.known(&wish.model, jobs);
        let fates: Vec<_> = known.tenancies.iter().map(|tenancy| tenancy.fates(&fate_of_job)).collect();
        let outlook = &known.outlook;
        let choices = fates.iter().enumerate().filter_map(|(n, fates)| outlook.fewest(n, fates, wish));
        let fewest = choices.min_by_key(|choice| (choice.len(), choice.iter().sum::<usize>()))?;
        Some(fewest.into_iter().map(|n| candidates[n].job).collect())
    }

    /// The Pods of a model whose controllers answer, in the order in which they are tried.
    fn usable_pods(&self, model: &ModelName) -> impl Iterator<Item = (&PodId, &Pod)> {
        let model = self.models.get(model).filter(|model| self.usable(model).is_ok());
        model.into_iter().flat_map(|model| self.reached(model))
    }

    fn outlook(&mut self, model: &ModelName, jobs: &impl Jobs) -> &Outlook {
        &self.known(model, jobs).outlook
    }

    /// The model in time, made anew when anything happened or a second went by.
    fn known(&mut self, model: &ModelName, jobs: &impl Jobs) -> &Known {
        let (events, now) = (self.events, Some(jobs.now()));
        let is_fresh = |known: &Known| known.events == events && known.at == now;
        if !self.outlooks.0.get(model).is_some_and(is_fresh) {
            let before = self.outlooks.0.remove(model).filter(|known| known.events == events);
            let anew = || self.usable_pods(model).map(|(_, pod)| Tenancy::of(pod)).collect();
            let tenancies: Vec<_> = before.map_or_else(anew, |known| known.tenancies);
            let pods = tenancies.iter().map(|tenancy| tenancy.timeline(jobs)).collect();
            let outlook = Outlook::new(pods, self.plans.in_force(model, jobs));
            self.outlooks.0.insert(model.clone(), Known { events, tenancies, outlook, at: now });
        }
        &self.outlooks.0[model]
    }
}
