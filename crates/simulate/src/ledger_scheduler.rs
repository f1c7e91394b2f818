//! The real ledger in front of a simulated controller, whose calls take time. It gives the ledger the answers of front
//! end and driver; [`crate::slurm`] is the Slurm.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::time::Duration;

use ledger::{
    Action, Claim, DriverAction, Ending, Event, HostAction, IdleRules, KnownJobs, Ledger, Millis, ModelFacts,
    Place, Placement, Rank, SeenPartition, Wish, span,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, Shape};

use crate::controller::Controller;
use crate::slurm::Launched;
use crate::{DOMAIN, Job, Scheduler, Verdict};

const PREFIX: &str = "slurm";

/// The time between two listings (ReconcileInterval), in seconds.
const LISTINGS: i64 = 30;

/// The time of each call to the controller, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    pub create: i64,
    pub removal: i64,
    pub reset: i64,
}

/// The number of calls, and the IPU seconds that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub creates: u64,
    pub removals: u64,
    pub resets: u64,
    /// Creates for which the controller had no room.
    pub refused: u64,
    pub ipu_seconds: i64,
}

/// The settings of a ledger.
#[derive(Clone, Debug)]
pub struct Settings {
    pub placement: Placement,
    /// Whether the ledger considers the jobs before a job in line.
    pub has_line: bool,
    pub idle: IdleRules,
    pub costs: Costs,
}

/// The end of a call.
#[derive(Clone, Debug)]
enum Answer {
    Up(PartitionId),
    Idle(PartitionId),
    Gone(PartitionId),
    /// The time for another try of a refused create.
    Retry(Claim),
    /// The time for a listing.
    Listing,
}

/// A ledger with one model of one controller.
#[derive(Debug)]
pub struct LedgerScheduler {
    ledger: Ledger,
    facts: ModelFacts,
    ipus: u32,
    has_line: bool,
    costs: Costs,
    controller: Controller,
    now: i64,
    /// The answers to come, by their time and number.
    answers: BTreeMap<(i64, u64), Answer>,
    asked: u64,
    /// Creates that wait for removals.
    creates: Vec<(Claim, Vec<PartitionId>)>,
    launched: Vec<Launched>,
    is_kicked: bool,
    /// The time from which the IPUs of a partition would be free if no partition stayed.
    free_from: HashMap<PartitionId, i64>,
    /// The latest of these times, of the partitions that became idle or were gone just now.
    freed: Option<i64>,
    /// The time at which each job that begins would have begun if no partition stayed.
    begun: HashMap<u32, i64>,
    pub calls: Calls,
}

impl LedgerScheduler {
    pub fn new(ipus: u32, controller: Controller, settings: Settings) -> Self {
        let Settings { placement, has_line, idle, costs } = settings;
        let facts = ModelFacts {
            model: known(ModelName::new("pod")),
            controllers: vec![known(ControllerName::new("vipu", 8090))],
            domain_size: size(DOMAIN),
            prefix: PREFIX.into(),
            placement,
            reconcile_interval: Duration::ZERO,
            largest: ipus,
            is_pool: false,
            idle,
            trouble: None,
        };
        let mut new = Self {
            ledger: Ledger::new(),
            facts,
            ipus,
            has_line,
            costs,
            controller,
            now: 0,
            answers: BTreeMap::new(),
            asked: 0,
            creates: Vec::new(),
            launched: Vec::new(),
            is_kicked: false,
            free_from: HashMap::new(),
            freed: None,
            begun: HashMap::new(),
            calls: Calls::default(),
        };
        new.tell(Event::Models(vec![new.facts.clone()]));
        new
    }

    fn tell(&mut self, event: Event) {
        let now = Millis(self.now.unsigned_abs() * 1000);
        for action in self.ledger.apply(now, event) {
            match action {
                Action::Driver(action) => self.drive(action),
                Action::Host(HostAction::OpenLaunch(claim)) => self.launch(claim),
                Action::Host(HostAction::AwaitNodes(claim)) => self.tell(Event::NodesDone(claim.partition)),
                Action::Host(HostAction::KickScheduler) => self.is_kicked = true,
                Action::Host(_) => {}
            }
        }
    }

    fn drive(&mut self, action: DriverAction) {
        match action {
            DriverAction::Create(claim) => self.create(claim),
            DriverAction::CreateAfter(claim, removed) => self.creates.push((claim, removed)),
            DriverAction::Reuse { claim, reset, .. } => {
                let seconds = self.reset(&claim, reset);
                self.tell(Event::CreateStarted(claim.partition.clone()));
                self.answer_after(seconds, Answer::Up(claim.partition));
            }
            DriverAction::MakeIdle { claim, reset } => {
                let seconds = self.reset(&claim, reset);
                self.answer_after(seconds, Answer::Idle(claim.partition));
            }
            DriverAction::Remove(claim) => {
                let (now, gone) = (self.now, self.now + self.costs.removal);
                // Until now, the IPUs of an idle partition counted as free.
                let from = self.free_from.get_mut(&claim.partition);
                from.into_iter().for_each(|from| *from = (*from).clamp(now, gone));
                self.calls.removals += 1;
                self.calls.ipu_seconds += i64::from(claim.size.get()) * self.costs.removal;
                self.answer_after(self.costs.removal, Answer::Gone(claim.partition));
            }
            DriverAction::Survey(_) => self.list(),
            other => unreachable!("no job of the simulation needs {other:?}"),
        }
    }

    fn create(&mut self, claim: Claim) {
        if !self.controller.create(number(&claim.partition), claim.size.get(), &claim.ipus) {
            self.calls.refused += 1;
            self.tell(Event::NoRoom(claim.partition.clone()));
            self.answer_after(1, Answer::Retry(claim));
            return;
        }
        self.calls.creates += 1;
        self.calls.ipu_seconds += i64::from(claim.size.get()) * self.costs.create;
        self.tell(Event::CreateStarted(claim.partition.clone()));
        self.list();
        self.answer_after(self.costs.create, Answer::Up(claim.partition));
    }

    /// The seconds until a partition is reset, if that is to be done.
    fn reset(&mut self, claim: &Claim, is_wanted: bool) -> i64 {
        let seconds = if is_wanted { self.costs.reset } else { 0 };
        self.calls.resets += u64::from(is_wanted);
        self.calls.ipu_seconds += i64::from(claim.size.get()) * seconds;
        seconds
    }

    fn answer_after(&mut self, seconds: i64, answer: Answer) {
        if seconds == 0 {
            return self.answer(answer);
        }
        self.asked += 1;
        self.answers.insert((self.now + seconds, self.asked), answer);
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Up(partition) => self.tell(Event::Up(partition)),
            Answer::Idle(partition) => {
                self.note_freed(&partition);
                let keep = span_of(self.facts.idle.keep);
                let over = (self.now + keep).div_euclid(LISTINGS) * LISTINGS + LISTINGS;
                self.answer_after(over - self.now, Answer::Listing);
                self.tell(Event::Idle(partition));
            }
            Answer::Gone(partition) => self.gone(partition),
            Answer::Retry(claim) => self.create(claim),
            Answer::Listing => self.list(),
        }
    }

    fn gone(&mut self, partition: PartitionId) {
        self.note_freed(&partition);
        self.free_from.remove(&partition);
        self.controller.remove(number(&partition));
        self.tell(Event::Gone(partition.clone()));
        self.creates.iter_mut().for_each(|(_, removed)| removed.retain(|it| *it != partition));
        let (ready, rest) = mem::take(&mut self.creates).into_iter().partition(|(_, it)| it.is_empty());
        self.creates = rest;
        let ready: Vec<(Claim, Vec<PartitionId>)> = ready;
        ready.into_iter().for_each(|(claim, _)| self.create(claim));
    }

    fn note_freed(&mut self, partition: &PartitionId) {
        self.freed = self.freed.max(self.free_from.get(partition).copied());
    }

    fn launch(&mut self, claim: Claim) {
        self.tell(Event::Launched(claim.partition));
        let job = claim.run.job;
        let begun = self.begun.remove(&job).unwrap_or(self.now);
        self.launched.push(Launched { job, own_delay: self.now - (begun + self.costs.create) });
    }

    fn list(&mut self) {
        let seen = |(job, places)| SeenPartition {
            partition: named_after(job),
            places,
            fault: None,
            leaving: false,
        };
        let partitions = self.controller.partitions().map(seen).collect();
        let Some(pod) = self.facts.pods().next() else { return };
        let asked = Millis(self.now.unsigned_abs() * 1000);
        self.tell(Event::Inventory { pod, asked, ipus: self.ipus, faulty: 0, partitions });
        debug_assert_eq!(self.ledger.violations(), []);
    }

    fn claim(&mut self, job: &Job, moment: &KnownJobs) -> Option<Claim> {
        let wish = Wish {
            model: self.facts.model.clone(),
            size: size(job.size),
            rank: Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job.id) },
            duration: span(job.limit),
            controllers: None,
            components: Default::default(),
        };
        let verdict = match self.has_line {
            true => self.ledger.may_start(&wish, moment),
            false => self.ledger.fits_now(&wish.model, wish.size),
        };
        let controller = verdict.ok()?;
        let chosen: Vec<Place> = self.ledger.place(&wish, &controller, moment);
        let shape = Shape::default();
        let idle = self.ledger.idle_for(&wish, &controller, job.user, shape);
        let (partition, ipus) = idle.unwrap_or_else(|| (named_after(job.id), chosen));
        let run = JobRun { job: job.id, restart: 0, start: moment.now.0 };
        let (user, size, model) = (job.user, wish.size, wish.model);
        let (slurm_partition, nodes) = (None, Vec::new());
        Some(Claim {
            partition,
            run,
            task: None,
            user,
            model,
            controller,
            size,
            shape,
            slurm_partition,
            ipus,
            nodes,
        })
    }
}

impl Scheduler for LedgerScheduler {
    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict {
        let Some(claim) = self.claim(job, moment) else { return Verdict::Waits };
        self.begun.insert(job.id, self.freed.unwrap_or(self.now).max(job.submitted));
        self.tell(Event::begin(claim));
        Verdict::Begins
    }

    fn end(&mut self, job: &Job) {
        if let Some(claim) = self.ledger.live_claim(job.id) {
            self.free_from.insert(claim.partition.clone(), self.now + self.costs.removal);
        }
        self.tell(Event::Fini { job: job.id, ending: Ending::Unheld });
    }

    fn next_answer(&self) -> Option<i64> {
        self.answers.first_key_value().map(|((time, _), _)| *time)
    }

    fn has_news(&mut self) -> bool {
        mem::take(&mut self.is_kicked)
    }

    fn advance(&mut self, now: i64) -> Vec<Launched> {
        if now > self.now {
            self.freed = None;
        }
        self.now = now;
        while let Some(answer) = self.answers.first_entry().filter(|answer| answer.key().0 <= now) {
            let answer = answer.remove();
            self.answer(answer);
        }
        mem::take(&mut self.launched)
    }
}

/// The id of a partition that is made for this job.
fn named_after(job: u32) -> PartitionId {
    known(PartitionId::of_run(PREFIX, job, 0))
}

/// The job for which a partition was made.
fn number(partition: &PartitionId) -> u32 {
    partition.job(PREFIX).unwrap_or_else(|| panic!("{partition} is none of the simulation"))
}

fn span_of(duration: Duration) -> i64 {
    duration.as_secs().try_into().unwrap_or(i64::MAX)
}

fn size(ipus: u32) -> IpuCount {
    known(IpuCount::new(ipus.into()))
}

/// Returns a value that this program itself made up, and that is therefore valid.
fn known<T, E: std::fmt::Display>(made: Result<T, E>) -> T {
    made.unwrap_or_else(|error| panic!("{error}"))
}
