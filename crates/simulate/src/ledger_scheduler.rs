//! The real ledger in front of a simulated controller.

use std::cmp::Reverse;
use std::time::Duration;

use ledger::{
    Claim, Ending, Event, KnownJobs, Ledger, Millis, ModelFacts, Place, Placement, Rank, SeenPartition, Wish,
    span,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, Shape};

use crate::controller::Controller;
use crate::{DOMAIN, Job, Scheduler, Verdict};

/// A ledger with one model of one controller.
#[derive(Debug)]
pub struct LedgerScheduler {
    ledger: Ledger,
    facts: ModelFacts,
    ipus: u32,
    /// Whether the ledger considers the jobs before a job in line.
    has_line: bool,
    controller: Controller,
    clock: Millis,
}

impl LedgerScheduler {
    pub fn new(ipus: u32, controller: Controller, placement: Placement, has_line: bool) -> Self {
        let facts = ModelFacts {
            model: known(ModelName::new("pod")),
            controllers: vec![known(ControllerName::new("vipu", 8090))],
            domain_size: size(DOMAIN),
            prefix: "slurm".into(),
            placement,
            reconcile_interval: Duration::ZERO,
            largest: ipus,
            idle: ledger::IdleRules::default(),
            trouble: None,
        };
        let (ledger, clock) = (Ledger::new(), Millis(0));
        let mut new = Self { ledger, facts, ipus, has_line, controller, clock };
        new.tell(Event::Models(vec![new.facts.clone()]));
        new.list();
        new
    }

    fn tell(&mut self, event: Event) {
        self.clock.0 += 1;
        self.ledger.apply(self.clock, event);
    }

    fn list(&mut self) {
        let seen =
            |(job, places)| SeenPartition { partition: partition(job), places, fault: None, leaving: false };
        let partitions = self.controller.partitions().map(seen).collect();
        let Some(pod) = self.facts.pods().next() else { return };
        let asked = Millis(self.clock.0 + 1);
        self.tell(Event::Inventory { pod, asked, ipus: self.ipus, faulty: 0, partitions });
        debug_assert_eq!(self.ledger.violations(), []);
    }

    fn claim(&mut self, job: &Job, moment: &KnownJobs) -> Option<Claim> {
        let wish = Wish {
            model: self.facts.model.clone(),
            size: size(job.size),
            rank: Rank { in_reservation: false, tier: 1, priority: 1, job: Reverse(job.id) },
            duration: span(job.limit),
        };
        let verdict = match self.has_line {
            true => self.ledger.may_start(&wish, moment),
            false => self.ledger.fits_now(&wish.model, wish.size),
        };
        let controller = verdict.ok()?;
        let ipus: Vec<Place> = self.ledger.place(&wish, &controller, moment);
        let run = JobRun { job: job.id, restart: 0, start: moment.now.0 };
        let (partition, size) = (partition(job.id), wish.size);
        Some(Claim {
            partition,
            run,
            user: 1000,
            model: wish.model,
            controller,
            size,
            shape: Shape::default(),
            slurm_partition: None,
            ipus,
        })
    }
}

impl Scheduler for LedgerScheduler {
    fn start(&mut self, job: &Job, moment: &KnownJobs) -> Verdict {
        let Some(claim) = self.claim(job, moment) else { return Verdict::Waits };
        if !self.controller.create(job.id, job.size, &claim.ipus) {
            return Verdict::Refused;
        }
        let id = claim.partition.clone();
        let events = [Event::CreateStarted(id.clone()), Event::Up(id.clone()), Event::Launched(id)];
        self.tell(Event::begin(claim));
        events.into_iter().for_each(|event| self.tell(event));
        self.list();
        Verdict::Starts
    }

    fn end(&mut self, job: &Job) {
        let id = partition(job.id);
        self.tell(Event::Fini { job: job.id, ending: Ending::Unheld });
        self.tell(Event::NodesDone(id.clone()));
        self.controller.remove(job.id);
        self.tell(Event::Gone(id));
    }
}

fn partition(job: u32) -> PartitionId {
    known(PartitionId::of_run("slurm", job, 0))
}

fn size(ipus: u32) -> IpuCount {
    known(IpuCount::new(ipus.into()))
}

/// Returns a value that this program itself made up, and that is therefore valid.
fn known<T, E: std::fmt::Display>(made: Result<T, E>) -> T {
    made.unwrap_or_else(|error| panic!("{error}"))
}
