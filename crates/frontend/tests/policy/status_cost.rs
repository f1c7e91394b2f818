//! The time for which the status document keeps the ledger locked, at full size: 1,024 IPUs in 512 partitions,
//! and 10,000 jobs in line. Slurm's callbacks may wait meanwhile.
//!
//! Machines are noisy, so the test judges the number of portions and prints their times (docs/bench.md).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use frontend::{Frontend, StatusComposer};
use ledger::{Claim, Event, KnownJobs, Millis, Rank, Seconds, WholeTimes, Wish};
use vipu_status::Writer;
use vipu_types::{IpuCount, Placement};

use crate::orders::{NOW, Orders};
use crate::{claim, facts, pod};

const PARTITIONS: u32 = 512;
const WAITING: u32 = 10_000;
const DOCUMENTS: u32 = 20;

/// The jobs or claims in one portion.
const PORTION: u32 = 64;

fn full_site() -> Frontend {
    let frontend = Frontend::new(Box::<Orders>::default());
    let (pod, asked, partitions) = (pod("pod64", "a:8090"), Millis(1000), Vec::new());
    frontend.tell_models(vec![facts("pod64", &["a:8090"], Placement::Controller, 1024)]);
    frontend.tell(Event::Inventory { pod: pod.clone(), asked, ipus: 1024, faulty: 0, partitions });
    let size = IpuCount::new(2).unwrap();
    for job in 1..=PARTITIONS {
        let claim = Claim { size, ..claim(job) };
        frontend.tell(Event::begin(claim.clone()));
        frontend.tell(Event::Up(claim.partition.clone()));
        frontend.tell(Event::Launched(claim.partition));
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
        let (model, duration) = (pod.model.clone(), Duration::from_secs(3600));
        let wish = Wish { model, size, rank, duration, controllers: None, components: Default::default() };
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
