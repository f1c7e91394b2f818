//! The ledger itself: events in, actions out, and the questions it answers.

use std::collections::BTreeMap;

use vipu_types::{ModelName, PartitionId, PodId, Words, words};

use crate::claim::Serial;
use crate::claims::Claims;
use crate::drains::Drains;
use crate::failed_preparations::FailedPreparations;
use crate::free_times_cache::FreeTimesCache;
use crate::ipu_holders::IpuHolder;
use crate::lifecycle::{AfterRun, Signal};
use crate::model::Model;
use crate::past_ids::PastIds;
use crate::pod::{Hardware, MOST_IPUS, Pod};
use crate::waiting_line::WaitingLine;
use crate::withheld::Withheld;
use crate::{
    Action, Awaits, Claim, DriverAction, Ending, Event, HostAction, Launch, Millis, ModelFacts, Phase,
    SeenPartition,
};

/// The state machine that knows the holder of each IPU. See the crate's documentation.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub(crate) models: BTreeMap<ModelName, Model>,
    /// The trouble of each model that is in trouble. The model need not be known yet.
    pub(crate) troubles: BTreeMap<ModelName, Words>,
    /// The Pods of all models, and only those.
    pub(crate) pods: BTreeMap<PodId, Pod>,
    pub(crate) claims: Claims,
    pub(crate) drains: Drains,
    pub(crate) line: WaitingLine,
    pub(crate) free_times_cache: FreeTimesCache,
    pub(crate) failed_preparations: FailedPreparations,
    pub(crate) past_ids: PastIds,
    pub(crate) withheld: Withheld,
    /// The number of events so far.
    pub(crate) events: u64,
}

impl Ledger {
    /// A ledger without a model and without a claim.
    pub fn new() -> Self {
        Self::default()
    }

    /// The claim of this job's run that has not ended. [`Event::Fini`] would end it.
    ///
    /// Raise a completion gate, and tell [`Ending::Held`], only if there is one.
    pub fn live_claim(&self, job: u32) -> Option<&Claim> {
        self.claims.live(job).map(|(_, record)| &record.claim)
    }

    /// Whether the launch gate of this job's run is raised and no action to open it was given.
    pub fn launch_raised(&self, job: u32) -> bool {
        self.claims.live(job).is_some_and(|(_, record)| record.phase.launch_raised())
    }

    /// Whether Slurm waits for the end of this run.
    pub fn completion_raised(&self, claim: &Claim) -> bool {
        self.phase_of(claim).is_some_and(Phase::completion_raised)
    }

    /// Whether this run failed and its partition is kept for a while.
    pub fn is_kept(&self, claim: &Claim) -> bool {
        self.phase_of(claim).is_some_and(Phase::is_kept)
    }

    /// The phase of the claim's run. None if the run has no partition.
    pub fn phase_of(&self, claim: &Claim) -> Option<&Phase> {
        let holder = self.claims.holder(&claim.partition).filter(|(_, it)| it.claim.run == claim.run);
        holder.map(|(_, it)| &it.phase)
    }

    /// Whether this job's run has its partition and its launch gate is lowered.
    pub fn is_launched(&self, job: u32) -> bool {
        self.claims.live(job).is_some_and(|(_, record)| record.phase == Phase::Running)
    }

    /// The claim that has this partition id, live or being released.
    ///
    /// A partition with a claim must not be adopted again.
    pub fn holder(&self, partition: &PartitionId) -> Option<&Claim> {
        self.claims.holder(partition).map(|(_, record)| &record.claim)
    }

    /// The answer that this run's claim waits for, as long as it holds its partition.
    pub fn awaits(&self, claim: &Claim) -> Option<Awaits> {
        self.phase_of(claim).map(Phase::awaits)
    }

    /// The id for the next partition of this run of a job. No claim has it, and none had it within the last
    /// hour. None if the model is not configured.
    ///
    /// Claims of an earlier front end have to be known by then. [`Ledger::may_start`] lets no run begin
    /// before a controller has answered.
    pub fn new_id(&self, now: Millis, model: &ModelName, job: u32, restart: u16) -> Option<PartitionId> {
        let prefix = &self.models.get(model)?.facts().prefix;
        let ids =
            (0..=u16::MAX).map_while(|further| PartitionId::further(prefix, job, restart, further).ok());
        let is_free = |id: &PartitionId| self.holder(id).is_none() && !self.past_ids.has(now, id);
        ids.into_iter().find(is_free)
    }

    /// Takes an event and returns the actions, in order.
    ///
    /// `now` never goes back. Late, repeated and unknown answers change nothing.
    pub fn apply(&mut self, now: Millis, event: Event) -> Vec<Action> {
        let mut todo = Vec::new();
        self.events += 1;
        match event {
            Event::Models(models) => self.configure(now, models, &mut todo),
            Event::Inventory { pod, asked, ipus, faulty, partitions } => {
                if self.list(now, &pod, asked, Hardware { ipus, faulty }, partitions, &mut todo) {
                    self.weigh_refusals(now, &pod, asked, &mut todo);
                }
            }
            Event::UnclaimedGone { pod, partition } => {
                if let Some(pod) = self.pods.get_mut(&pod) {
                    pod.unclaimed.remove(&partition);
                }
            }
            Event::Pool { pod, partitions, missing } => self.note_pool(&pod, partitions, missing),
            Event::BrokenIpus { pod, places } => self.note_broken(&pod, places, &mut todo),
            Event::Unreachable { pod, reason } => {
                if let Some(pod) = self.pods.get_mut(&pod) {
                    pod.lost(now, reason);
                }
            }
            Event::Trouble { model, reason } => self.trouble(model, reason, &mut todo),
            Event::Refuses { pod, reason } => self.refuses(&pod, reason, &mut todo),
            Event::Drain(drain) => self.drain(now, drain, &mut todo),
            Event::Resume(scope) => self.resume(&scope, &mut todo),
            Event::Prepare(claim) => self.prepare(now, claim, &mut todo),
            Event::Forgo { job, in_vain } => self.forgo(now, job, in_vain, &mut todo),
            Event::Begin(claim, launch) => self.begin(now, claim, launch, &mut todo),
            Event::Adopt(claim, found) => self.adopt(now, claim, found, &mut todo),
            Event::Orphan(claim) => self.adopt_orphan(now, claim, &mut todo),
            Event::Fini { job, ending } => {
                if let Some((serial, _)) = self.claims.live(job) {
                    self.signal(now, serial, Signal::Ended(ending), &mut todo);
                }
            }
            Event::Failed { job, ending, keep_until } => {
                if let Some((serial, _)) = self.claims.live(job) {
                    self.signal(now, serial, Signal::Failed(ending, keep_until), &mut todo);
                }
            }
            Event::KeepRecorded(id) => self.answer(now, &id, Signal::KeepRecorded, &mut todo),
            Event::KeepOver(id) => self.answer(now, &id, Signal::KeepOver, &mut todo),
            Event::Freed(id) => {
                self.end_withheld(&id, &mut todo);
                self.answer(now, &id, Signal::Freed, &mut todo);
            }
            Event::Withheld { claim, left } => self.go_on_withholding(now, claim, left, &mut todo),
            Event::CreateStarted(id) => self.answer(now, &id, Signal::CreateStarted, &mut todo),
            Event::Up(id) => self.answer(now, &id, Signal::Up, &mut todo),
            Event::CreateFailed { partition: id, reason } => {
                self.withhold(now, now, &id, &mut todo);
                let is_away = self.is_away(&id);
                if !is_away {
                    self.note_failure(now, &id);
                }
                self.answer(now, &id, Signal::CreateFailed { reason, may_wait: is_away }, &mut todo);
            }
            Event::CreatePutOff { partition: id, reason } => {
                self.withhold(now, now, &id, &mut todo);
                self.answer(now, &id, Signal::CreateFailed { reason, may_wait: true }, &mut todo);
            }
            Event::NoRoom(id) => self.refused(now, &id, &mut todo),
            Event::CreateCancelled(id) => self.answer(now, &id, Signal::CreateCancelled, &mut todo),
            Event::Launched(id) => self.answer(now, &id, Signal::Launched, &mut todo),
            Event::RunVanished(id) => self.answer(now, &id, Signal::RunVanished, &mut todo),
            Event::NodesUnknown(id) if !self.is_unused_of_pool(&id) => {
                // Processes of a job end while its partition is kept, too.
                let since = self.kept_since(&id).unwrap_or(now);
                self.withhold(now, since, &id, &mut todo);
                self.answer(now, &id, Signal::NodesDone(AfterRun::Removal), &mut todo);
            }
            Event::NodesDone(id) | Event::NodesUnknown(id) => {
                let after = self.after_run(&id);
                self.answer(now, &id, Signal::NodesDone(after), &mut todo);
            }
            Event::Idle(id) => {
                self.answer(now, &id, Signal::Idle, &mut todo);
                self.trim_idle(now, &id, &mut todo);
            }
            Event::NotIdle(id) => {
                self.withhold(now, now, &id, &mut todo);
                self.answer(now, &id, Signal::NotIdle, &mut todo);
            }
            Event::Overdue(id) => self.answer(now, &id, Signal::Overdue, &mut todo),
            Event::Gone(id) => self.answer(now, &id, Signal::Gone, &mut todo),
        }
        todo
    }

    /// Replaces the models.
    fn configure(&mut self, now: Millis, models: Vec<ModelFacts>, todo: &mut Vec<Action>) {
        let unlisted = |known: &&ModelName| !models.iter().any(|facts| facts.model == **known);
        for gone in self.models.keys().filter(unlisted).cloned().collect::<Vec<_>>() {
            self.end_idle_of_model(now, &gone, todo);
            self.models.remove(&gone);
        }
        let mut more_fits = false;
        for facts in models {
            let name = facts.model.clone();
            if self.models.get(&name).is_some_and(|known| *known.facts() == facts) {
                continue;
            }
            let before = self.largest_now(&name);
            if self.models.get(&name).is_some_and(|known| known.facts().idle != facts.idle) {
                self.end_idle_of_model(now, &name, todo);
            }
            self.set_model(now, Model::new(facts), todo);
            more_fits |= self.largest_now(&name) > before;
        }
        let models = &self.models;
        self.pods.retain(|id, _| models.get(&id.model).is_some_and(|model| model.pods().contains(id)));
        self.pods.values_mut().for_each(|pod| pod.unclaimed.clear());
        if more_fits {
            todo.push(Action::Host(HostAction::KickScheduler));
        }
    }

    /// Adds or replaces a model. The answers of its controllers are kept.
    fn set_model(&mut self, now: Millis, model: Model, todo: &mut Vec<Action>) {
        let (domain_size, is_pool) = (model.facts().domain_size, model.facts().is_pool);
        for id in model.pods() {
            let pod = self.pods.entry(id.clone()).or_insert_with(|| Pod::new(now, domain_size));
            pod.set_layout(domain_size, is_pool);
            pod.set_drained(self.drains.of_pod(id));
            todo.push(Action::Driver(DriverAction::Survey(id.clone())));
        }
        self.models.insert(model.facts().model.clone(), model);
    }

    /// Takes a listing of a controller. Returns whether it is news.
    fn list(
        &mut self,
        now: Millis,
        id: &PodId,
        asked: Millis,
        hardware: Hardware,
        mut partitions: Vec<SeenPartition>,
        todo: &mut Vec<Action>,
    ) -> bool {
        let before = self.largest_now(&id.model);
        let Some(pod) = self.pods.get_mut(id) else { return false };
        if hardware.ipus > MOST_IPUS {
            pod.lost(now, words!("it lists {} IPUs, more than any system has", hardware.ipus));
            return false;
        }
        let findings = self.compare(id, asked, hardware.ipus, &partitions);
        let Some(pod) = self.pods.get_mut(id) else { return false };
        // The size of a claim is known, so its partition counts in full even without places.
        partitions.retain(|seen| !seen.places.is_empty() || !self.claims.holds(id, &seen.partition));
        self.withheld.review(now);
        let withheld = |partition: &_| self.withheld.has(partition).then_some(IpuHolder::Unknown);
        let holder = |partition: &_| self.claims.ipu_holder(id, partition).or_else(|| withheld(partition));
        if !pod.list(now, asked, hardware, partitions, holder) {
            return false;
        }
        // A claim of an earlier mode has IPUs outside the pool.
        let is_placed = |partition: &_| pod.is_pool() || pod.listed().contains_key(partition);
        pod.place_claims(self.claims.unplaced(id, is_placed));
        self.reconcile(now, id, findings, todo);
        self.end_old_idle(now, id, todo);
        self.kick_if_more_fits(&id.model, before, todo);
        true
    }

    /// Begins the run of a job that got its nodes.
    pub(crate) fn begin(&mut self, now: Millis, claim: Claim, launch: Launch, todo: &mut Vec<Action>) {
        self.line.drop_of(claim.run.job);
        self.end_keeps(now, &claim, todo);
        if self.bind(now, &claim, launch, todo) {
            return;
        }
        self.end_earlier(now, &claim, todo);
        self.ask_for(now, claim, Phase::Claimed, todo);
    }

    /// Ends the keeping of partitions of earlier runs of this claim's job. In a pool these are runs that ended in a
    /// requeue. Of others, processes may be left.
    pub(crate) fn end_keeps(&mut self, now: Millis, claim: &Claim, todo: &mut Vec<Action>) {
        let is_of_job = |kept: &Claim| kept.run.job == claim.run.job;
        let was_requeued = |kept: &Claim| kept.run.restart < claim.run.restart;
        let is_over = |kept: &Claim| is_of_job(kept) && (was_requeued(kept) || !self.in_pool(kept));
        let kept = self.claims.kept().filter(|(_, it)| is_over(&it.claim));
        let kept: Vec<Serial> = kept.map(|(serial, _)| serial).collect();
        for serial in kept {
            self.signal(now, serial, Signal::KeepOver, todo);
        }
    }

    /// Ends an earlier run that Slurm should have ended, or a preparation. A job has one run.
    pub(crate) fn end_earlier(&mut self, now: Millis, claim: &Claim, todo: &mut Vec<Action>) {
        if let Some((serial, _)) = self.claims.live(claim.run.job) {
            self.signal(now, serial, Signal::Ended(Ending::Unheld), todo);
        }
    }

    pub(crate) fn add(&mut self, now: Millis, claim: Claim, phase: Phase) {
        let is_of_pool = self.pods.get(&claim.pod()).is_some_and(Pod::is_pool);
        let serial = self.claims.add(now, claim, phase, is_of_pool);
        let Some(record) = self.claims.get(serial) else { return };
        let Some(pod) = self.pods.get_mut(&record.claim.pod()) else { return };
        pod.asks(record.claim.user);
        if !pod.is_pool() && !pod.listed().contains_key(&record.claim.partition) {
            pod.claim(serial, record.unlisted(serial));
        } else {
            pod.set_holder(serial, &record.claim.partition, record.ipu_holder(serial));
        }
    }

    /// Whether no partition can be made on the Pod of the claim with this id: its controller did not answer
    /// the last question, or its model is in trouble.
    fn is_away(&self, partition: &PartitionId) -> bool {
        let Some((_, record)) = self.claims.holder(partition) else { return false };
        let model = self.models.get(&record.claim.model);
        let pod = self.pods.get(&record.claim.pod());
        pod.is_some_and(Pod::is_lost) || model.is_some_and(|model| self.usable(model).is_err())
    }

    /// Hands an answer to the claim that has the partition id.
    fn answer(&mut self, now: Millis, partition: &PartitionId, signal: Signal, todo: &mut Vec<Action>) {
        if let Some((serial, _)) = self.claims.holder(partition) {
            self.signal(now, serial, signal, todo);
        }
    }

    pub(crate) fn signal(&mut self, now: Millis, serial: Serial, signal: Signal, todo: &mut Vec<Action>) {
        let Some(record) = self.claims.get(serial) else { return };
        let Some(transition) = record.phase.on(signal, &record.claim) else { return };
        todo.extend(transition.actions);
        match transition.next {
            Some(phase) => self.enter(now, serial, phase),
            None => self.close(now, serial),
        }
    }

    /// Puts a claim into another phase.
    pub(crate) fn enter(&mut self, now: Millis, serial: Serial, phase: Phase) {
        self.claims.enter(now, serial, phase);
        let Some(record) = self.claims.get(serial) else { return };
        if let Some(pod) = self.pods.get_mut(&record.claim.pod()) {
            pod.set_holder(serial, &record.claim.partition, record.ipu_holder(serial));
        }
    }

    /// Ends a claim. Its IPUs are free.
    fn close(&mut self, now: Millis, serial: Serial) {
        let Some(record) = self.claims.remove(now, serial) else { return };
        let (pod, id) = (record.claim.pod(), record.claim.partition);
        if let Some(pod) = self.pods.get_mut(&pod) {
            pod.removed(now, serial, id.clone(), self.withheld.has(&id));
        }
        self.past_ids.add(now, id);
    }
}
