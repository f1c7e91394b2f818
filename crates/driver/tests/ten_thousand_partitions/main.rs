//! The time in which a new slurmctld sorts out 10,000 partitions: it learns the state of each, and removes
//! the orphans.
//!
//! The time is compared with that of the same calls, made bare and one after the other. The mock has no latency.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../common/claim.rs"]
mod claim;
mod plugin;
#[path = "../common/settings.rs"]
mod settings;

use std::time::{Duration, Instant};

use ledger::Claim;
use mock_vipu::{Hardware, Incident, MockServer, Options, Report, Settings};
use tonic::Request;
use tonic::transport::Endpoint;
use vipu_client::Call;
use vipu_client::wire::{
    GetPartitionStatusReply, GetPartitionStatusRequest, ListIpuAttributesReply, ListIpuAttributesRequest,
    ListPartitionsReply, ListPartitionsRequest, RemovePartitionReply, RemovePartitionRequest, unary,
};

use crate::claim::claim;

/// The number of jobs that run on a partition.
const HEALTHY: u32 = 9_900;
/// The number of running jobs whose partition is missing.
const LOST: u32 = 100;
/// The number of partitions that are in the journal and have no job.
const ORPHANS: u32 = 100;

/// The pause of the driver between two surveys of a controller. It does nothing meanwhile.
const BETWEEN_SURVEYS: Duration = Duration::from_secs(1);

/// The limit of the test, longer than it takes on any machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The claims of jobs that run on a partition. Their numbers come first, then those of jobs that lost their
/// partition, then those of jobs that ended.
fn healthy() -> impl Iterator<Item = Claim> {
    (1..=HEALTHY).map(claim)
}

fn lost() -> impl Iterator<Item = Claim> {
    (HEALTHY + 1..=HEALTHY + LOST).map(claim)
}

fn orphans() -> impl Iterator<Item = Claim> {
    (HEALTHY + LOST + 1..=HEALTHY + LOST + ORPHANS).map(claim)
}

/// Starts a controller with 10,000 partitions of one IPU.
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
    // The machine may be busy with something else during one of the two measurements.
    let mut ratio = f64::INFINITY;
    for _ in 0..3 {
        ratio = ratio.min(once().await);
        if ratio <= 2.0 {
            return;
        }
    }
    panic!("{ratio:.2} times as long as the calls alone");
}

/// Returns the ratio of the time to the time of the calls alone.
async fn once() -> f64 {
    let server = controller().await;
    let began = Instant::now();
    plugin::converge(&server).await;
    let ours = began.elapsed().saturating_sub(BETWEEN_SURVEYS);
    let calls = server.mock().report();

    let server = controller().await;
    let began = Instant::now();
    make_alone(&server, &calls).await;
    let bare = began.elapsed();

    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!("{ours:.2?}; the same calls alone {bare:.2?}: {ratio:.2}");
    ratio
}

/// Makes as many calls of each kind as `report` has, without the client.
async fn make_alone(server: &MockServer, report: &Report) {
    let address = format!("http://{}", server.address());
    let channel = Endpoint::try_from(address).unwrap().connect().await.unwrap();
    for _ in 0..report.calls(Call::ListPartitions) {
        let request = Request::new(ListPartitionsRequest::default());
        unary::<_, ListPartitionsReply>(channel.clone(), Call::ListPartitions, request).await.unwrap();
    }
    for _ in 0..report.calls(Call::ListIpuAttributes) {
        let request = Request::new(ListIpuAttributesRequest::default());
        unary::<_, ListIpuAttributesReply>(channel.clone(), Call::ListIpuAttributes, request).await.unwrap();
    }
    let ids: Vec<_> = orphans().map(|claim| claim.partition.to_string()).collect();
    for partition_id in ids.iter().cloned() {
        let request = Request::new(RemovePartitionRequest { partition_id, force: false });
        unary::<_, RemovePartitionReply>(channel.clone(), Call::RemovePartition, request).await.unwrap();
    }
    for (_, partition_id) in (0..report.calls(Call::GetPartitionStatus)).zip(ids.iter().cycle().cloned()) {
        let request = Request::new(GetPartitionStatusRequest { partition_id });
        // The answer is an error once the partition is gone.
        let call = Call::GetPartitionStatus;
        let _ = unary::<_, GetPartitionStatusReply>(channel.clone(), call, request).await;
    }
}
