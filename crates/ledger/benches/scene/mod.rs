//! A busy Pod and a line of jobs, in the sizes that the figures of docs/scheduling.md are for.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use ledger::{
    AdoptedAs, Candidate, Claim, Event, KnownJobs, Ledger, Millis, ModelFacts, Place, Placement, Rank,
    Seconds, SeenPartition, Wish, span,
};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};

pub mod case;

/// IPUs of the Pods that are looked at.
pub const PODS: [u32; 4] = [64, 1024, 8192, 65_536];

/// Jobs that wait before the one that is tested.
pub const LINE: u32 = 10_000;

const HOUR: i64 = 3600;
const NOW: i64 = 1_800_000_000;

/// Seconds, as with backfill every 30.
const PATIENCE: i64 = 60;

/// IPUs in one IPU-Link domain.
const DOMAIN: u32 = 64;

/// Every so manieth IPU is free.
const FREE: u32 = 43;

/// A running job on nearly each IPU, a free one here and there; 1,001 jobs on 1,024 IPUs.
pub struct Scene {
    ledger: Ledger,
    slurm: KnownJobs,
    ipus: u32,
}

impl Scene {
    /// The Pod, with nobody in line. The jobs end within the hour, in no order.
    pub fn new(ipus: u32) -> Self {
        // A multiplier without a factor in common with the modulus.
        Self::ending(ipus, |job| NOW + 61 + i64::from(job) * 1009 % HOUR)
    }

    fn ending(ipus: u32, end: impl Fn(u32) -> i64) -> Self {
        let running = || (1..=ipus).filter(|job| job % FREE != 0);
        let ends = running().map(|job| (job, Seconds(end(job)))).collect();
        let slurm = KnownJobs { now: Seconds(NOW), ends, expected: HashMap::new(), patience: span(PATIENCE) };
        let mut scene = Self { ledger: Ledger::new(), slurm, ipus };
        scene.tell(Event::Models(vec![facts()]));
        running().for_each(|job| scene.tell(Event::Adopt(claim(job), AdoptedAs::Running)));
        let partitions = running().map(|job| SeenPartition {
            partition: claim(job).partition,
            places: vec![Place { domain: (job - 1) / DOMAIN, index: (job - 1) % DOMAIN }],
            fault: None,
            leaving: false,
        });
        let partitions = partitions.collect();
        scene.tell(Event::Inventory { pod: pod(), asked: Millis(1), ipus, faulty: 0, partitions });
        scene
    }

    /// The same with [`LINE`] jobs that wait: the first for a domain, the others for one half down to a
    /// sixteenth.
    pub fn with_line(ipus: u32) -> Self {
        Self::new(ipus).queued()
    }

    /// The same, when all running jobs end together: one that waits may have any domain.
    pub fn with_choice(ipus: u32) -> Self {
        Self::ending(ipus, |_| NOW + HOUR).queued()
    }

    fn queued(mut self) -> Self {
        for n in 0..LINE {
            let size = if n == 0 { DOMAIN } else { DOMAIN >> (1 + n % 4) };
            let waiting = wish(self.ipus + 1 + n, size, 2 * HOUR);
            self.ledger.plan(&waiting, Seconds(NOW), &self.slurm);
        }
        self
    }

    fn tell(&mut self, event: Event) {
        self.ledger.apply(Millis(1), event);
    }

    /// A second goes by: what was worked out for the one before has to be worked out anew.
    pub fn tick(&mut self) {
        self.slurm.now = Seconds(NOW + (self.slurm.now == Seconds(NOW)) as i64);
    }

    /// Something happens, of whatever kind.
    pub fn stir(&mut self) {
        self.tell(Event::Fini { job: 0, ending: ledger::Ending::Unheld });
    }

    /// Whether a job of one IPU, behind all others, may start now.
    pub fn may_start(&mut self, seconds: i64) -> bool {
        self.ledger.may_start(&self.last(1, seconds), &self.slurm).is_ok()
    }

    /// The same for one that needs a domain.
    pub fn large_may_start(&mut self) -> bool {
        self.ledger.may_start(&self.last(DOMAIN, HOUR), &self.slurm).is_ok()
    }

    /// What is asked of the ledger for a job that is refused, where its Slurm partition has a limit.
    pub fn is_refused(&mut self) -> bool {
        let wish = self.last(DOMAIN, HOUR);
        let others = self.ledger.ipus_of_others(&wish.model, "ipu", wish.job());
        let is_free = others < u64::from(self.ipus) && self.ledger.preparation(wish.job()).is_none();
        is_free && self.ledger.may_start(&wish, &self.slurm).is_err() && !self.ledger.is_any_prepared()
    }

    /// When a job of half a domain, behind all others, can start.
    pub fn forecast(&mut self) -> Option<Seconds> {
        self.ledger.forecast(&self.last(DOMAIN / 2, HOUR), self.slurm.now, &self.slurm)
    }

    /// Who has to go for a domain, all that run being candidates.
    pub fn victims(&mut self, candidates: &[Candidate]) -> Option<Vec<u32>> {
        self.ledger.victims(&self.last(DOMAIN, HOUR), candidates, &self.slurm)
    }

    /// As many running jobs that may be preempted as Slurm would name: those of the first domains.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut jobs: Vec<_> = self.slurm.ends.keys().copied().collect();
        jobs.sort_unstable();
        jobs.into_iter().take(1000).map(|job| Candidate { job, dying: false }).collect()
    }

    fn last(&self, size: u32, seconds: i64) -> Wish {
        wish(self.ipus + LINE + 1, size, seconds)
    }
}

fn facts() -> ModelFacts {
    let Claim { model, controller, .. } = claim(1);
    let domain_size = size(DOMAIN);
    ModelFacts {
        model,
        controllers: vec![controller],
        domain_size,
        prefix: "slurm".into(),
        placement: Placement::Controller,
        reconcile_interval: Duration::ZERO,
        largest: 4096,
        trouble: None,
    }
}

fn claim(job: u32) -> Claim {
    let PodId { model, controller } = pod();
    Claim {
        partition: PartitionId::of_run("slurm", job, 0).expect("a good name"),
        run: JobRun { job, restart: 0, start: NOW },
        user: 1000,
        model,
        controller,
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: Some("ipu".into()),
        ipus: vec![],
    }
}

fn pod() -> PodId {
    let controller = ControllerName::new("vipu.example.org", 8090).expect("a good name");
    PodId { model: ModelName::new("pod64").expect("a good name"), controller }
}

fn size(ipus: u32) -> IpuCount {
    IpuCount::new(ipus.into()).expect("a power of two")
}

/// What a job would like; the older goes first.
fn wish(job: u32, ipus: u32, duration: i64) -> Wish {
    let rank = Rank { reserved: false, tier: 1, priority: 1, job: Reverse(job) };
    Wish { model: pod().model, size: size(ipus), rank, duration: span(duration) }
}
