//! The start that `svipu when` reads from the status document is the one that Slurm is told when the job is submitted.
//!
//! Each state has random jobs, running and in line, with random priorities, and drains and partitions of strangers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Claim, Ending, Event, KnownJobs, ModelFacts, Place, SeenPartition, Wish};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use shuttle::scheduler::RandomScheduler;
use vipu_admin::{Answer, Request};
use vipu_status::Job;
use vipu_types::{ControllerName, PartitionId, Placement, PodId};

use super::seen_jobs::LatestEnd;
use super::seen_jobs::tests::in_line;
use super::tests::{NOW, Nothing, claim};
use super::*;

const STATES: u64 = 300;

/// The party that chooses places, the controllers, and the IPUs of each.
const SITES: [(Placement, &[&str], u32); 6] = [
    (Placement::Controller, &["a:8090"], 64),
    (Placement::Explicit, &["a:8090"], 64),
    (Placement::Controller, &["a:8090", "b:8090"], 64),
    (Placement::Controller, &["a:8090"], 128),
    (Placement::Explicit, &["a:8090"], 128),
    (Placement::Explicit, &["a:8090"], 16),
];

/// Time limits are multiples of this many seconds.
const STEP: u64 = 1200;

struct Site {
    frontend: Frontend,
    random: StdRng,
    facts: ModelFacts,
    domain: u32,
    ipus: u32,
    jobs: KnownJobs,
    /// The partitions on the controllers.
    listed: Vec<(PodId, SeenPartition)>,
    waiting: Vec<Wish>,
    last_job: u32,
}

impl Site {
    fn new(seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        let (placement, controllers, ipus) = SITES[(seed % SITES.len() as u64) as usize];
        let controllers = controllers.iter().map(|name| name.parse().unwrap()).collect();
        let domain = ipus.min(64);
        let model = ModelName::new("pod").unwrap();
        let facts = ModelFacts::new(model, controllers, IpuCount::new(domain.into()).unwrap());
        let facts = ModelFacts { placement, largest: ipus, ..facts };
        let frontend = Frontend::new(Box::new(Nothing));
        frontend.tell_models(vec![facts.clone()]);
        let jobs = KnownJobs { now: NOW, patience: Duration::from_secs(600), ..KnownJobs::default() };
        let (listed, waiting) = (Vec::new(), Vec::new());
        Self { frontend, random, facts, domain, ipus, jobs, listed, waiting, last_job: 0 }
    }

    /// Brings the site into a random state.
    fn play(&mut self) {
        if self.random.random_bool(0.2) {
            let pods: Vec<_> = self.facts.pods().collect();
            let (pod, size) = (pods.choose(&mut self.random).unwrap().clone(), self.size());
            let places = self.block(&pod, size);
            self.appear(pod, "theirs", places);
        }
        self.list();
        for _ in 0..self.random.random_range(1..25) {
            let priority = self.random.random_range(1..1000);
            let wish = self.wish(priority);
            self.waiting.push(wish);
            self.schedule();
            match self.random.random_range(0..20) {
                0 => self.drain(),
                1..3 => self.end_a_job(),
                _ => {}
            }
        }
        self.schedule();
    }

    fn size(&mut self) -> IpuCount {
        IpuCount::new(1 << self.random.random_range(0..=self.ipus.ilog2())).unwrap()
    }

    /// A new job.
    fn wish(&mut self, priority: u32) -> Wish {
        self.last_job += 1;
        let rank = Rank { in_reservation: false, tier: 1, priority, job: Reverse(self.last_job) };
        let duration = Duration::from_secs(STEP * self.random.random_range(1..16));
        Wish {
            model: self.facts.model.clone(),
            size: self.size(),
            rank,
            duration,
            controllers: None,
            components: Vec::new(),
        }
    }

    /// Looks at all waiting jobs, as backfill does.
    fn schedule(&mut self) {
        self.waiting.sort_unstable_by_key(|wish| Reverse(wish.rank));
        for wish in mem::take(&mut self.waiting) {
            let verdict = self.frontend.ledger().may_start(&wish, &self.jobs);
            match verdict {
                Ok(controller) => self.start(&wish, &controller),
                Err(_) => {
                    self.frontend.ledger().plan(&wish, NOW, &self.jobs);
                    self.waiting.push(wish);
                }
            }
        }
    }

    fn start(&mut self, wish: &Wish, controller: &ControllerName) {
        let (job, size) = (wish.job(), wish.size);
        let pod = PodId { model: wish.model.clone(), controller: controller.clone() };
        let ipus = self.frontend.ledger().place(wish, controller, &self.jobs);
        let places = if ipus.is_empty() { self.block(&pod, size) } else { ipus.clone() };
        let claim = Claim { controller: pod.controller.clone(), size, ipus, ..claim(job) };
        let partition = claim.partition.clone();
        self.frontend.tell(Event::begin(claim));
        self.frontend.tell(Event::Up(partition.clone()));
        self.frontend.tell(Event::Launched(partition.clone()));
        let end = Seconds(NOW.0.saturating_add_unsigned(wish.duration.as_secs()));
        self.jobs.ends.insert(job, end);
        let seen = SeenJob {
            job: Arc::new(Job { id: job, ..Job::default() }),
            waits_for: None,
            latest_end: LatestEnd::At(end.0),
            ..in_line()
        };
        self.frontend.seen_jobs.note(job, Some(seen));
        self.appear(pod, partition.as_str(), places);
        self.list();
    }

    fn end_a_job(&mut self) {
        let running: Vec<_> = self.jobs.ends.keys().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let Some(job) = running.choose(&mut self.random).copied() else { return };
        let partition = PartitionId::of_run("slurm", job, 0).unwrap();
        self.frontend.tell(Event::Fini { job, ending: Ending::Unheld });
        self.frontend.tell(Event::NodesDone(partition.clone()));
        self.frontend.tell(Event::Gone(partition.clone()));
        self.jobs.ends.remove(&job);
        self.frontend.seen_jobs.note(job, None);
        self.listed.retain(|(_, seen)| seen.partition != partition);
        self.list();
    }

    /// Drains the model, one of its controllers or one of its IPUs, with or without an end.
    fn drain(&mut self) {
        let controllers = &self.facts.controllers;
        let controller = controllers.choose(&mut self.random).unwrap().to_string();
        let ipus = match self.random.random_range(0..3) {
            0 => self.facts.model.to_string(),
            1 if self.facts.placement == Placement::Explicit => {
                format!("{controller}/0:{}", self.random.random_range(0..16))
            }
            _ => controller,
        };
        let end = NOW.0 + i64::try_from(STEP).unwrap() * self.random.random_range(1..16);
        let until = self.random.random_bool(0.5).then_some(end);
        let request = Request::Drain { ipus, reason: "test".into(), until };
        assert!(matches!(self.frontend.steer("root", request), Answer::Done(_)));
    }

    /// Any free block, as a controller would choose it.
    fn block(&mut self, pod: &PodId, size: IpuCount) -> Vec<Place> {
        let on_pod = self.listed.iter().filter(|(other, _)| other == pod);
        let taken: BTreeSet<_> = on_pod.flat_map(|(_, seen)| seen.places.clone()).collect();
        let places = |first: usize| -> Vec<_> {
            (first..first + size.get() as usize).map(|ipu| Place::numbered(ipu, self.domain)).collect()
        };
        let blocks = (0..self.ipus as usize).step_by(size.get() as usize).map(places);
        let free: Vec<_> = blocks.filter(|block| block.iter().all(|place| !taken.contains(place))).collect();
        free.choose(&mut self.random).unwrap().clone()
    }

    fn appear(&mut self, pod: PodId, partition: &str, places: Vec<Place>) {
        let partition = PartitionId::new(partition).unwrap();
        self.listed.push((pod, SeenPartition { partition, places, fault: None, leaving: false }));
    }

    /// Each controller lists its partitions.
    fn list(&self) {
        for pod in self.facts.pods() {
            let on_pod = self.listed.iter().filter(|(other, _)| *other == pod);
            let partitions = on_pod.map(|(_, seen)| seen.clone()).collect();
            let asked = Millis(1000);
            self.frontend.tell(Event::Inventory { pod, asked, ipus: self.ipus, faulty: 0, partitions });
        }
    }
}

#[test]
fn cli_when_is_the_start_that_slurm_is_told() {
    let compare = || {
        let mut kinds = BTreeMap::new();
        for seed in 0..STATES {
            let mut site = Site::new(seed);
            site.play();
            let wish = site.wish(0);
            let status =
                StatusComposer::default().compose(&site.frontend, Writer::default(), BTreeMap::new());
            let forecast = ModelForecast::new(&status, &status.models[0], NOW.0);
            let shown = forecast.and_then(|it| it.new_job(wish.size, wish.duration)).map(|start| start.at);
            let told = site.frontend.ledger().plan(&wish, NOW, &site.jobs).map(|start| start.0);
            assert_eq!(shown, told, "state {seed}: {} IPUs for {:?}", wish.size, wish.duration);
            *kinds.entry(told.map(|start| start == NOW.0)).or_insert(0) += 1;
        }
        assert!(kinds.len() == 3 && kinds.values().all(|count| *count > 15), "{kinds:?}");
    };
    // The locks are those of shuttle, which needs a run of its own.
    let mut config = shuttle::Config::new();
    (config.stack_size, config.max_steps) = (1 << 20, shuttle::MaxSteps::None);
    shuttle::Runner::new(RandomScheduler::new(1), config).run(compare);
}
