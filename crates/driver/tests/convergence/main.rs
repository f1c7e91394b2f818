//! A new slurmctld finds 10,000 partitions: how long until it knows of each what it is, and has removed what
//! is nobody's.
//!
//! Compared with the same calls made by the bare generated client, one after the other, against a mock
//! without latency.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bare;
mod plugin;
#[path = "../common/settings.rs"]
mod settings;

use std::time::{Duration, Instant};

use ledger::Claim;
use mock_vipu::{Hardware, Incident, MockServer, Options, Settings};
use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, PodId, Shape};

/// Jobs that run on a partition.
const HEALTHY: u32 = 9_900;
/// Jobs that run, whose partition is not there any more.
const LOST: u32 = 100;
/// Partitions that the journal has and no job.
const ORPHANS: u32 = 100;

/// The driver lets this long pass between two surveys of a controller. Nothing is done meanwhile.
const BETWEEN_SURVEYS: Duration = Duration::from_secs(1);

/// Longer than this takes on any machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Jobs are numbered: those that run on a partition, those that lost theirs, those that ended.
fn healthy() -> impl Iterator<Item = Claim> {
    (1..=HEALTHY).map(claim)
}

fn lost() -> impl Iterator<Item = Claim> {
    (HEALTHY + 1..=HEALTHY + LOST).map(claim)
}

fn orphans() -> impl Iterator<Item = Claim> {
    (HEALTHY + LOST + 1..=HEALTHY + LOST + ORPHANS).map(claim)
}

fn claim(job: u32) -> Claim {
    let run = JobRun { job, restart: 0, start: 1_700_000_000 };
    let PodId { model, controller } = pod();
    let partition = PartitionId::of_run("slurm", job, 0).unwrap();
    Claim {
        partition,
        run,
        user: 1000,
        model,
        controller,
        size: IpuCount::ONE,
        shape: Shape::default(),
        slurm_partition: None,
        ipus: vec![],
    }
}

fn pod() -> PodId {
    let controller = ControllerName::new("vipu", 8090).unwrap();
    PodId { model: ModelName::new("pod").unwrap(), controller }
}

/// A controller with 10,000 partitions of one IPU.
async fn controller() -> MockServer {
    let settings = Settings { create: Duration::ZERO, remove: Duration::ZERO, ..Settings::default() };
    let server =
        MockServer::start(Options { settings, ..Options::new(Hardware::new(16_384)) }).await.unwrap();
    for (first, claim) in (0..).zip(healthy().chain(orphans())) {
        let id = claim.partition.to_string();
        server.mock().cause(&Incident::Foreign { id, size: 1, first: Some(first) }).unwrap();
    }
    server
}

#[tokio::test]
async fn ten_thousand_partitions_are_sorted_out_in_twice_the_time_of_the_calls() {
    // A machine may be busy with something else for one of the two.
    let mut ratio = f64::INFINITY;
    for _ in 0..3 {
        ratio = ratio.min(once().await);
        if ratio <= 2.0 {
            return;
        }
    }
    panic!("{ratio:.2} times as long as the calls alone");
}

/// How many times as long as the calls alone it takes.
async fn once() -> f64 {
    let server = controller().await;
    let began = Instant::now();
    plugin::converge(&server).await;
    let ours = began.elapsed().saturating_sub(BETWEEN_SURVEYS);
    let calls = server.mock().report();

    let server = controller().await;
    let began = Instant::now();
    bare::make(&server, &calls).await;
    let bare = began.elapsed();

    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!("{ours:.2?}; the same calls alone {bare:.2?}: {ratio:.2}");
    ratio
}
