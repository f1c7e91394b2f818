//! The time for which the status document keeps the ledger locked, at full size: 1,024 IPUs in 512 partitions,
//! and 10,000 jobs in line. Slurm's callbacks may wait meanwhile.
//!
//! Machines are noisy, so the test judges the number of portions and prints their times (docs/bench.md).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use frontend::{Frontend, HostTask, Outside, StatusComposer};
use ledger::{Action, Claim, Event, KnownJobs, Millis, ModelFacts, Rank, Seconds, WholeTimes, Wish};
use vipu_status::Writer;
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId, Placement, PodId, Shape};

const NOW: i64 = 1_800_000_000;
const PARTITIONS: u32 = 512;
const WAITING: u32 = 10_000;
const DOCUMENTS: u32 = 20;

/// The jobs or claims in one portion.
const PORTION: u32 = 64;

struct Nothing;

impl Outside for Nothing {
    fn now(&self) -> Millis {
        Millis(1000)
    }
    fn unix_time(&self) -> Seconds {
        Seconds(NOW)
    }
    fn local_time(&self, at: Seconds) -> String {
        at.0.to_string()
    }
    fn carry_out(&self, _: Vec<Action>) {}
    fn note_launched(&self, _: Claim, _: Seconds) {}
    fn ask_host(&self, _: HostTask) {}
    fn is_switched_off(&self) -> bool {
        false
    }
}

fn pod() -> PodId {
    PodId { model: ModelName::new("pod64").unwrap(), controller: "a:8090".parse().unwrap() }
}

fn full_site() -> Frontend {
    let frontend = Frontend::new(Box::new(Nothing));
    let PodId { model, controller } = pod();
    frontend.tell_models(vec![ModelFacts {
        model: model.clone(),
        controllers: vec![controller.clone()],
        domain_size: IpuCount::new(64).unwrap(),
        prefix: "slurm".into(),
        placement: Placement::Controller,
        reconcile_interval: Duration::from_secs(30),
        largest: 1024,
        is_pool: false,
        idle: ledger::IdleRules::default(),
        trouble: None,
    }]);
    let partitions = Vec::new();
    frontend.tell(Event::Inventory { pod: pod(), asked: Millis(1000), ipus: 1024, faulty: 0, partitions });
    let size = IpuCount::new(2).unwrap();
    for job in 1..=PARTITIONS {
        let partition = PartitionId::of_run("slurm", job, 0).unwrap();
        frontend.tell(Event::begin(Claim {
            partition: partition.clone(),
            run: JobRun { job, restart: 0, start: NOW },
            task: None,
            user: 1000,
            model: model.clone(),
            controller: controller.clone(),
            size,
            shape: Shape::default(),
            slurm_partition: None,
            ipus: Vec::new(),
            nodes: Vec::new(),
        }));
        frontend.tell(Event::Up(partition.clone()));
        frontend.tell(Event::Launched(partition));
    }
    let jobs = KnownJobs {
        now: Seconds(NOW),
        ends: (1..=PARTITIONS).map(|job| (job, Seconds(NOW + 3600 + i64::from(job)))).collect(),
        expected: HashMap::new(),
        patience: Duration::from_secs(600),
        whole_times: WholeTimes::default(),
    };
    for job in (1..=WAITING).map(|job| PARTITIONS + job) {
        let rank = Rank { in_reservation: false, tier: 1, priority: 100, job: Reverse(job) };
        let wish =
            Wish { model: model.clone(), size, rank, duration: Duration::from_secs(3600), controllers: None };
        assert!(frontend.ledger().may_start(&wish, &jobs).is_err(), "the Pod is full");
    }
    frontend
}

#[test]
fn cli_status_of_ten_thousand_jobs_is_copied_in_portions() {
    let frontend = full_site();
    let mut composer = StatusComposer::default();
    let began = Instant::now();
    let compose = |_| composer.compose(&frontend, Writer::default(), BTreeMap::new());
    let last = (0..DOCUMENTS).map(compose).last().unwrap();
    assert_eq!((last.partitions.len(), last.line.len()), (PARTITIONS as usize, WAITING as usize));
    let held = &last.counters.ledger_held;
    println!(
        "{} portions: median up to {} s, p99 up to {} s, longest up to {} s; a document takes {:.1?}",
        held.count,
        held.quantile(0.5),
        held.quantile(0.99),
        held.quantile(1.0),
        began.elapsed() / DOCUMENTS
    );
    let least = u64::from(DOCUMENTS * (WAITING + PARTITIONS) / PORTION);
    assert!(held.count >= least, "{} portions, not {least}", held.count);
}
