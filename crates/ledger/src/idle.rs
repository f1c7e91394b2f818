//! Partitions that stay idle after the end of their job, and are given to another job.
//!
//! An idle partition stands in nobody's way: its IPUs count as free, and it is removed as soon as another
//! partition needs them.

use std::collections::HashMap;

use vipu_types::{ControllerName, ModelName, PartitionId, Place, PodId, Shape};

use crate::claim::Serial;
use crate::claim_record::Record;
use crate::free_times::{AfterPreemption, fewest_for};
use crate::lifecycle::{AfterRun, Signal};
use crate::pod::Pod;
use crate::{Action, Claim, DriverAction, Gates, KeepIdleFor, Ledger, Millis, Phase, ReuseReset, Wish};

impl Record {
    /// Whether the partition is idle and serves this claim.
    fn serves(&self, claim: &Claim) -> bool {
        let Claim { model, controller, size, shape, .. } = &self.claim;
        matches!(self.phase, Phase::Idle { .. })
            && (model, controller, *size, *shape)
                == (&claim.model, &claim.controller, claim.size, claim.shape)
    }

    /// Whether the partition is kept after a run of this job of this user, and no gate waits for it. If Slurm has lost
    /// its state, jobs of other users get the same ids.
    pub(crate) fn is_left_by(&self, job: u32, user: u32) -> bool {
        let is_kept = matches!(self.phase, Phase::Kept { .. } | Phase::Keeping { gates: Gates::Open, .. });
        is_kept && (self.claim.run.job, self.claim.user) == (job, user)
    }

    /// Whether this idle partition has to be reset before it is given to this user.
    pub(crate) fn needs_reset_for(&self, user: u32, rule: ReuseReset) -> bool {
        self.phase != Phase::Idle { is_reset: true }
            && (rule == ReuseReset::Always || self.claim.user != user)
    }
}

impl Ledger {
    /// An idle partition for a job of this user, on the controller that was chosen for the job. One that needs
    /// no reset comes first, then the one that became idle last. Its places are given if the ledger chooses the
    /// places of partitions, so that they stay if the partition has to be made anew.
    pub fn idle_for(
        &self,
        wish: &Wish,
        controller: &ControllerName,
        user: u32,
        shape: Shape,
    ) -> Option<(PartitionId, Vec<Place>)> {
        let model = &wish.model;
        let is_explicit = self.is_explicit(model);
        if is_explicit && !self.line.nobody_before(wish) {
            // The places that were chosen for the job delay no other job. Those of an idle partition might.
            return None;
        }
        let pod = PodId { model: model.clone(), controller: controller.clone() };
        let serving = self.idle_on(&pod).filter(|(_, record)| {
            let Claim { size, shape: made, .. } = &record.claim;
            (*size, *made) == (wish.size, shape) && record.health.is_good()
        });
        let rule = self.reset_rule(model);
        let best = serving.max_by_key(|(_, record)| (!record.needs_reset_for(user, rule), record.since));
        let partition = &best?.1.claim.partition;
        let places = match is_explicit {
            true => self.pods.get(&pod)?.listed().get(partition)?.places.clone(),
            false => vec![],
        };
        Some((partition.clone(), places))
    }

    /// Adds a claim whose partition the controller is asked for, unless an idle partition has its id: then the
    /// claim gets that one.
    pub(crate) fn ask_for(&mut self, now: Millis, claim: Claim, phase: Phase, todo: &mut Vec<Action>) {
        let is_pool = self.pods.get(&claim.pod()).is_some_and(Pod::is_pool);
        let Some((serial, record)) = self.claims.holder(&claim.partition) else {
            if is_pool {
                self.add(now, claim.clone(), phase);
                todo.push(Action::Driver(DriverAction::Reuse { claim, before: None, reset: true }));
                return;
            }
            let before = self.make_room(now, &claim, todo);
            self.add(now, claim.clone(), phase);
            todo.push(Action::Driver(match before.is_empty() {
                true => DriverAction::Create(claim),
                false => DriverAction::CreateAfter(claim, before),
            }));
            return;
        };
        let is_left = is_pool && record.is_left_by(claim.run.job, claim.user);
        if record.serves(&claim) || (is_pool && record.phase.is_idle()) || is_left {
            let reset = is_left || record.needs_reset_for(claim.user, self.reset_rule(&claim.model));
            let before = Some(record.claim.run);
            self.take_out(now, serial);
            self.add(now, claim.clone(), phase);
            self.claims.note_reused(&claim.partition);
            todo.push(Action::Driver(DriverAction::Reuse { claim, before, reset }));
        }
    }

    /// Takes out a claim whose partition another claim gets.
    pub(crate) fn take_out(&mut self, now: Millis, serial: Serial) {
        let Some(record) = self.claims.remove(now, serial) else { return };
        if let Some(pod) = self.pods.get_mut(&record.claim.pod()) {
            pod.forget(serial);
        }
    }

    /// What becomes of the partition of a run that has ended, and whose nodes are done.
    pub(crate) fn after_run(&self, partition: &PartitionId) -> AfterRun {
        self.stay(partition).unwrap_or(AfterRun::Removal)
    }

    /// How the partition of an ended run stays. None if it may not stay.
    fn stay(&self, partition: &PartitionId) -> Option<AfterRun> {
        let (_, record) = self.claims.holder(partition)?;
        let Claim { model, size, .. } = &record.claim;
        let in_pool = self.in_pool(&record.claim);
        let rules = &self.models.get(model)?.facts().idle;
        let pod = self.pods.get(&record.claim.pod())?;
        let fits = rules.most.is_none_or(|most| size.get() <= most);
        let is_kept = in_pool || (!rules.keep.is_zero() && fits && self.is_wanted(&record.claim));
        let may_stay = is_kept
            && !self.is_withheld(partition)
            && record.was_up
            && !record.is_outdated
            && record.health.is_good()
            && pod.is_reached()
            && !pod.drains_claim(&record.claim);
        // A waiting job gets the partition after a reset as early in both cases. Without a reset now, others do not
        // wait for it.
        let at_once = in_pool || rules.keep_for == KeepIdleFor::AnyJob;
        may_stay.then_some(AfterRun::Idle { reset: rules.reset == ReuseReset::Always && at_once })
    }

    pub(crate) fn reset_rule(&self, model: &ModelName) -> ReuseReset {
        self.models.get(model).map(|model| model.facts().idle.reset).unwrap_or_default()
    }

    /// Whether the partition of a claim may be idle. A job that waits for another size would wait for its removal,
    /// too. Those of a pool are not removed.
    fn is_wanted(&self, claim: &Claim) -> bool {
        let rule = self.models.get(&claim.model).map(|model| model.facts().idle.keep_for);
        let first = self.line.first(&claim.model, &claim.controller);
        self.in_pool(claim) || first.map_or(rule == Some(KeepIdleFor::AnyJob), |wish| wish.size == claim.size)
    }

    /// Whether the partition of a claim is one of a pool.
    pub(crate) fn in_pool(&self, claim: &Claim) -> bool {
        self.pods.get(&claim.pod()).is_some_and(|pod| pod.is_in_pool(&claim.partition))
    }

    /// Removes a partition that has just become idle, if the settings have changed meanwhile, its IPUs are
    /// drained, or no job wants it any more. Removes the oldest idle partitions of its Pod until no more than
    /// KeepIdleMax IPUs are idle.
    pub(crate) fn trim_idle(&mut self, now: Millis, new: &PartitionId, todo: &mut Vec<Action>) {
        let Some((serial, record)) = self.claims.holder(new) else { return };
        let id = record.claim.pod();
        if record.is_outdated || !self.is_wanted(&record.claim) {
            self.signal(now, serial, Signal::IdleOver, todo);
        }
        self.end_drained_idle(now, todo);
        if self.is_pool(&id.model) {
            return;
        }
        let most = self.models.get(&id.model).and_then(|model| model.facts().idle.most);
        let Some(most) = most else { return };
        let mut idle = self.idle_ipus(&id);
        let by_age: Vec<_> =
            self.idle_by_age(&id).map(|(serial, record)| (serial, record.claim.size)).collect();
        for (serial, size) in by_age {
            if idle <= most {
                break;
            }
            idle -= size.get();
            self.signal(now, serial, Signal::IdleOver, todo);
        }
    }

    /// Removes the idle partitions that meet a condition.
    pub(crate) fn end_idle(
        &mut self,
        now: Millis,
        todo: &mut Vec<Action>,
        is_over: impl Fn(&Self, &Claim, Millis) -> bool,
    ) {
        let is_over = |record: &Record| is_over(self, &record.claim, record.since);
        let over: Vec<_> =
            self.claims.idle().filter(|(_, record)| is_over(record)).map(|(serial, _)| serial).collect();
        for serial in over {
            self.signal(now, serial, Signal::IdleOver, todo);
        }
    }

    /// Removes the idle partitions of a Pod that are too old, or that no job wants any more.
    pub(crate) fn end_old_idle(&mut self, now: Millis, id: &PodId, todo: &mut Vec<Action>) {
        if self.is_pool(&id.model) {
            return;
        }
        let keep = self.models.get(&id.model).map(|model| model.facts().idle.keep).unwrap_or_default();
        let is_old = |since: Millis| u128::from(now.0.saturating_sub(since.0)) >= keep.as_millis();
        self.end_idle(now, todo, |ledger, claim, since| {
            claim.pod() == *id && (is_old(since) || !ledger.is_wanted(claim))
        });
    }

    /// Removes all idle partitions of a model whose settings change. Those of its jobs will not stay idle.
    pub(crate) fn end_idle_of_model(&mut self, now: Millis, model: &ModelName, todo: &mut Vec<Action>) {
        self.claims.outdate(model);
        self.end_idle(now, todo, |_, claim, _| claim.model == *model);
    }

    /// Removes the idle partitions on drained IPUs.
    pub(crate) fn end_drained_idle(&mut self, now: Millis, todo: &mut Vec<Action>) {
        self.end_idle(now, todo, |ledger, claim, _| {
            ledger.pods.get(&claim.pod()).is_some_and(|pod| pod.drains_claim(claim))
        });
    }

    /// Removes the idle partitions in the way of a new one. Returns those that have to be gone before it is
    /// asked for.
    fn make_room(&mut self, now: Millis, claim: &Claim, todo: &mut Vec<Action>) -> Vec<PartitionId> {
        let in_the_way = self.in_the_way(claim);
        let ids = in_the_way.iter().filter_map(|serial| self.claims.get(*serial));
        let ids = ids.map(|record| record.claim.partition.clone()).collect();
        for serial in in_the_way {
            self.signal(now, serial, Signal::IdleOver, todo);
        }
        ids
    }

    /// The fewest idle partitions without which there is room for a new one. Of equally many, the oldest.
    fn in_the_way(&self, claim: &Claim) -> Vec<Serial> {
        let (id, size) = (claim.pod(), claim.size);
        let Some(pod) = self.pods.get(&id) else { return vec![] };
        let idle: Vec<_> = self.idle_by_age(&id).collect();
        if !claim.ipus.is_empty() {
            let overlaps = |record: &Record| pod.has_any_of(&record.claim.partition, &claim.ipus);
            return idle.into_iter().filter(|(_, it)| overlaps(it)).map(|(serial, _)| serial).collect();
        }
        if idle.is_empty() {
            return vec![];
        }
        let numbers: HashMap<Serial, usize> = idle.iter().map(|(serial, _)| *serial).zip(0..).collect();
        let mut after = vec![AfterPreemption::Free; pod.hardware().ipus as usize];
        let candidate = |serial| numbers.get(&serial).copied().map(AfterPreemption::Candidate);
        pod.occupied(Some, |who, ipus| {
            after[ipus].fill(who.idle().and_then(candidate).unwrap_or(AfterPreemption::Stays));
        });
        let fewest = fewest_for(pod.hardware().ipus, pod.layout(), &after, size);
        fewest.unwrap_or_default().into_iter().map(|number| idle[number].0).collect()
    }

    fn idle_on(&self, id: &PodId) -> impl Iterator<Item = (Serial, &Record)> {
        self.claims.idle().filter(move |(_, record)| record.claim.pod() == *id)
    }

    /// The idle partitions of a Pod, in the order in which they became idle.
    fn idle_by_age(&self, id: &PodId) -> impl Iterator<Item = (Serial, &Record)> {
        let mut idle: Vec<_> = self.idle_on(id).collect();
        idle.sort_by_key(|(serial, record)| (record.since, *serial));
        idle.into_iter()
    }

    /// The IPUs of a controller in idle partitions.
    pub fn idle_ipus(&self, id: &PodId) -> u32 {
        self.idle_on(id).map(|(_, record)| record.claim.size.get()).sum()
    }
}

impl Pod {
    /// Whether a partition of the listing has one of these IPUs. One whose places are unknown may have any.
    fn has_any_of(&self, partition: &PartitionId, ipus: &[Place]) -> bool {
        let places = self.listed().get(partition).map(|listed| &listed.places);
        places.is_none_or(|places| places.iter().any(|place| ipus.contains(place)))
    }
}
