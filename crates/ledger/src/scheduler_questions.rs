//! The questions of a scheduler: whether a job may start, when it could, and which jobs have to end for it.

use std::collections::{BTreeMap, BTreeSet};

use vipu_types::{ControllerName, ModelName, Place, PodId};

use crate::free_times::{AfterPreemption, FreeTimes};
use crate::free_times_cache::CachedFreeTimes;
use crate::ipu_holders::IpuHolder;
use crate::model::Model;
use crate::pod::Pod;
use crate::{Jobs, Ledger, Licenses, OtherNeeds, Placement, Seconds, Wait, Wish};

/// A running job that Slurm would let another preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The job.
    pub job: u32,
    /// The job was told to end already.
    pub dying: bool,
}

impl Candidate {
    /// The state of its IPUs after the preemption of candidates, with this candidate's number.
    fn after_preemption(self, number: usize) -> AfterPreemption {
        if self.dying { AfterPreemption::Free } else { AfterPreemption::Candidate(number) }
    }
}

impl Ledger {
    /// Whether a job may start now, and on which controller: a partition of its size fits, and no job before
    /// it in line has to wait longer, wherever the controller puts the partition.
    ///
    /// A job that has to wait for IPUs is in line from then on: [`Ledger::plan`].
    ///
    /// # Errors
    /// The reason to wait.
    pub fn may_start(&mut self, wish: &Wish, jobs: &impl Jobs) -> Result<ControllerName, Wait> {
        let verdict = self.why_not_now(wish, jobs);
        if let Err(why) = &verdict
            && why.is_for_ipus()
        {
            self.note(wish, None, jobs);
            self.put_behind(wish, why);
        }
        verdict
    }

    /// The answer of [`Ledger::may_start`], without putting the job in line.
    ///
    /// # Errors
    /// The reason to wait.
    pub fn why_not_now(&mut self, wish: &Wish, jobs: &impl Jobs) -> Result<ControllerName, Wait> {
        let alone = self.why_not_alone(wish, jobs);
        let is_sibling =
            |why: &Wait| matches!(why, Wait::Planned { job, .. } if wish.components.contains(job));
        let alone = if alone.as_ref().is_err_and(is_sibling) { self.room_for(wish) } else { alone }?;
        if self.start_together(wish, jobs.now(), jobs) == Some(jobs.now()) {
            return Ok(alone);
        }
        let in_line = self.components_in_line(wish);
        let ipus = in_line[&wish.model].iter().map(|component| component.size.get()).sum();
        Err(Wait::Together { model: wish.model.clone(), ipus })
    }

    /// The answer of [`Ledger::why_not_now`] without the other components of a heterogeneous job.
    fn why_not_alone(&mut self, wish: &Wish, jobs: &impl Jobs) -> Result<ControllerName, Wait> {
        let fits = self.room_for(wish);
        if fits.as_ref().err().is_none_or(Wait::is_for_room)
            && let Some(time) = time_in_the_way(wish, jobs)
        {
            return Err(Wait::WholeTime { model: wish.model.clone(), time });
        }
        if let Some(left) = self.left_for(wish, jobs.user_of(wish.job())) {
            return Ok(left.controller.clone());
        }
        let first = match fits {
            Ok(first) => first,
            Err(why) => return self.may_ask(wish, jobs).ok_or(why),
        };
        if self.line.nobody_before(wish) {
            return Ok(first);
        }
        let fits =
            |id: &PodId, pod: &Pod| wish.may_use(&id.controller) && pod.free_blocks().has_room_for(wish.size);
        let pods = self.usable_pods(&wish.model).enumerate();
        let fitting: Vec<_> = pods.filter(|(_, (id, pod))| fits(id, pod)).map(|(n, _)| n).collect();
        let (is_explicit, now) = (self.is_explicit(&wish.model), jobs.now());
        let chosen = self.free_times(&wish.model, jobs).harmless_pod(&fitting, wish, now, is_explicit);
        let chosen = chosen.map_err(|job| Wait::Planned { model: wish.model.clone(), job })?;
        Ok(self.usable_pods(&wish.model).nth(chosen).map_or(first, |(id, _)| id.controller.clone()))
    }

    /// Whether the configuration says that the ledger chooses the IPUs of partitions, or the partition of a pool.
    pub(crate) fn is_explicit(&self, model: &ModelName) -> bool {
        self.models
            .get(model)
            .is_some_and(|model| model.facts().placement == Placement::Explicit || model.facts().is_pool)
    }

    /// The job that has to start first, for a job that waits because its place is unknown. Its plan is laid
    /// behind that job's from now on.
    fn put_behind(&mut self, wish: &Wish, why: &Wait) -> Option<u32> {
        let behind = match why {
            Wait::Planned { job, .. } if !self.is_explicit(&wish.model) => Some(*job),
            _ => None,
        };
        if self.line.set_behind(wish.job(), behind) {
            self.free_times_cache.changed(wish);
        }
        behind
    }

    /// The IPUs of a controller for a job that may start, breaking up as little as possible. Empty if the
    /// configuration leaves the choice to the controller, or if no place is known to be free.
    pub fn place(&mut self, wish: &Wish, controller: &ControllerName, jobs: &impl Jobs) -> Vec<Place> {
        let facts = self.models.get(&wish.model).map(Model::facts);
        let Some(facts) = facts.filter(|facts| facts.placement == Placement::Explicit) else { return vec![] };
        let domain = facts.domain_size.get();
        let number = self.usable_pods(&wish.model).position(|(id, _)| id.controller == *controller);
        let Some(n) = number else { return vec![] };
        let found = self.free_times(&wish.model, jobs).harmless_place(n, wish, jobs.now());
        let place = |ipu: usize| Place::numbered(ipu, domain);
        found.unwrap_or_default().into_iter().flatten().map(place).collect()
    }

    /// The time at which a job could start, not before `from`, if all jobs before it in line start when they
    /// can. It is the present time exactly if the job may start now. `None` if it is unknown: controllers do
    /// not answer, or others have the IPUs.
    pub fn forecast(&mut self, wish: &Wish, from: Seconds, jobs: &impl Jobs) -> Option<Seconds> {
        let (now, from) = (jobs.now(), from.max(jobs.now()));
        let from = self.start_together(wish, from, jobs)?;
        let behind = if from == now {
            let Err(why) = self.why_not_now(wish, jobs) else { return Some(now) };
            self.put_behind(wish, &why)
        } else {
            self.line.behind(wish.job())
        };
        self.free_times(&wish.model, jobs).start_behind(wish, from, now, behind).map(|(_, slot)| slot.start)
    }

    /// The components of a heterogeneous job that are in line, with this one, by model.
    fn components_in_line(&self, wish: &Wish) -> BTreeMap<ModelName, Vec<Wish>> {
        let mut by_model = BTreeMap::from([(wish.model.clone(), vec![wish.clone()])]);
        for other in wish.components.iter().filter(|id| **id != wish.job()) {
            if let Some(plan) = self.line.plan_of(*other) {
                by_model.entry(plan.wish.model.clone()).or_default().push(plan.wish.clone());
            }
        }
        by_model
    }

    /// The first time, not before `from`, at which all components of a heterogeneous job that are in line have their
    /// IPUs. `from` for a job without others in line.
    fn start_together(&mut self, wish: &Wish, from: Seconds, jobs: &impl Jobs) -> Option<Seconds> {
        let is_in_line = |other: &u32| *other != wish.job() && self.line.plan_of(*other).is_some();
        if !wish.components.iter().any(is_in_line) {
            return Some(from);
        }
        let by_model = self.components_in_line(wish);
        let mut start = from;
        loop {
            let before = start;
            for (model, wishes) in &by_model {
                start = self.free_times(model, jobs).start_together(wishes, start)?;
            }
            if start == before {
                return Some(start);
            }
        }
    }

    /// Notes when a component of a heterogeneous job could start, with or without IPUs, and returns the common start
    /// of all `components`, the leader first. None if their plans do not count: one of them has no start, or was not
    /// looked at for [`Jobs::patience`].
    pub fn note_component(
        &mut self,
        components: &[u32],
        component: u32,
        start: Option<Seconds>,
        jobs: &impl Jobs,
    ) -> Option<Seconds> {
        self.line.note_component(components, component, start, jobs.now());
        for plan in components.iter().filter_map(|id| self.line.plan_of(*id)) {
            self.free_times_cache.changed(&plan.wish);
        }
        self.line.common_start(components, jobs.now(), jobs.patience())
    }

    /// Puts a job in line, or confirms its place. From now on no job behind it may make it wait longer.
    ///
    /// `not_before` is the time at which its other needs are free. The plan ends when the job begins, does
    /// not wait any more, or was not looked at for [`Jobs::patience`]. Returns its
    /// [forecast](Ledger::forecast).
    pub fn plan(&mut self, wish: &Wish, not_before: Seconds, jobs: &impl Jobs) -> Option<Seconds> {
        self.note(wish, Some(not_before), jobs);
        let start = self.forecast(wish, not_before, jobs);
        self.line.tell(wish.job(), start);
        // The scheduler may expect a later start by the next question.
        self.free_times_cache.changed(wish);
        start
    }

    /// The controllers about which a job waits in line. None: all of its model, or the job is not in line.
    pub fn controllers_in_line(&self, job: u32) -> Option<BTreeSet<ControllerName>> {
        self.line.plan_of(job)?.wish.controllers.clone()
    }

    /// Removes a job from the line, because something other than IPUs keeps it from starting. The jobs behind
    /// it need not wait for it.
    pub fn leave_line(&mut self, job: u32) {
        if let Some(plan) = self.line.drop_of(job) {
            self.free_times_cache.changed(&plan.wish);
        }
    }

    fn note(&mut self, wish: &Wish, not_before: Option<Seconds>, jobs: &impl Jobs) {
        if self.line.note(wish.clone(), not_before, jobs.now(), jobs.patience()) {
            self.free_times_cache.changed(wish);
        }
    }

    /// The fewest of the `candidates` whose partitions have to go for the job to get its own. Empty if the
    /// partitions being released suffice. `None` if even all candidates do not help.
    pub fn victims(&mut self, wish: &Wish, candidates: &[Candidate], jobs: &impl Jobs) -> Option<Vec<u32>> {
        if time_in_the_way(wish, jobs).is_some() {
            return None;
        }
        let after = self.after_preemption(&wish.model, candidates, jobs);
        let free_times = self.free_times(&wish.model, jobs);
        let choices = after.iter().enumerate().filter_map(|(n, after)| free_times.fewest(n, after, wish));
        let fewest = choices.min_by_key(|choice| (choice.len(), choice.iter().sum::<usize>()))?;
        Some(fewest.into_iter().map(|n| candidates[n].job).collect())
    }

    /// The state of the IPUs of each usable Pod after the preemption of candidates.
    pub(crate) fn after_preemption(
        &mut self,
        model: &ModelName,
        candidates: &[Candidate],
        jobs: &impl Jobs,
    ) -> Vec<Vec<AfterPreemption>> {
        let numbered = candidates.iter().enumerate();
        let of_job = numbered.map(|(n, candidate)| (candidate.job, candidate.after_preemption(n))).collect();
        let holders = &self.cached(model, jobs).holders;
        holders.iter().map(|holders| holders.after_preemption(&of_job)).collect()
    }

    /// The IPUs of a model that the other jobs of a Slurm partition have: runs that have not ended, failed
    /// runs with a kept partition, and waiting jobs with a prepared partition, also while it is being made.
    pub fn ipus_of_others(&self, model: &ModelName, slurm_partition: &str, job: u32, user: u32) -> u64 {
        let live = self.claims.live(job).map(|(_, record)| &record.claim);
        let own = live.into_iter().chain(self.left_in_pool(model, job, user)).filter(|claim| {
            claim.model == *model && claim.slurm_partition.as_deref() == Some(slurm_partition)
        });
        let all = self.claims.counts().in_slurm_partition(model, slurm_partition);
        all.saturating_sub(own.map(|claim| u64::from(claim.size.get())).sum())
    }

    /// The Pods of a model whose controllers answer, in the order in which they are tried.
    pub(crate) fn usable_pods(&self, model: &ModelName) -> impl Iterator<Item = (&PodId, &Pod)> {
        let model = self.models.get(model).filter(|model| self.usable(model).is_ok());
        model.into_iter().flat_map(|model| self.reached(model))
    }

    pub(crate) fn free_times(&mut self, model: &ModelName, jobs: &impl Jobs) -> &FreeTimes {
        &self.cached(model, jobs).free_times
    }

    /// The licences of a model. Those that its jobs have are of use only with reservations.
    fn licenses(&self, model: &ModelName, jobs: &impl Jobs) -> Licenses {
        let reservations = jobs.license_reservations(model);
        if reservations.reserved.is_empty() {
            return Licenses::default();
        }
        let of_model = self.claims.all().filter(|(_, record)| record.claim.model == *model);
        let in_use = of_model.filter_map(|(serial, record)| match record.ipu_holder(serial) {
            IpuHolder::Job(job) => Some((jobs.end_of(job)?, record.claim.size.get())),
            _ => None,
        });
        Licenses { reservations, in_use: in_use.collect() }
    }

    /// The free times of a model, calculated anew after an event or a second.
    fn cached(&mut self, model: &ModelName, jobs: &impl Jobs) -> &CachedFreeTimes {
        let (events, now) = (self.events, jobs.now());
        if !self.free_times_cache.is_fresh(model, events, now) {
            let before = self.free_times_cache.take_holders(model, events);
            let anew = || self.usable_pods(model).map(|(_, pod)| pod.ipu_holders()).collect();
            let holders: Vec<_> = before.unwrap_or_else(anew);
            let controllers = self.usable_pods(model).map(|(id, _)| Some(id.controller.clone()));
            let timelines = holders.iter().map(|holders| holders.timeline(jobs));
            let pods = timelines.zip(controllers).map(|(pod, controller)| pod.of(controller)).collect();
            let (licenses, whole_times) = (self.licenses(model, jobs), jobs.whole_times(model));
            let others = OtherNeeds { licenses, whole_times };
            let free_times = FreeTimes::new(pods, others, self.line.in_force(model, jobs));
            let cached = CachedFreeTimes { events, holders, free_times, at: Some(now) };
            self.free_times_cache.keep(model, cached);
        }
        self.free_times_cache.of(model)
    }
}

/// The time for the largest jobs that a job would run into if it started now, as the administrator wrote it.
fn time_in_the_way(wish: &Wish, jobs: &impl Jobs) -> Option<String> {
    let times = jobs.whole_times(&wish.model);
    Some(times.in_the_way(wish.size, wish.duration, jobs.now())?.text.clone())
}
