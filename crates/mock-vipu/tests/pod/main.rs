//! Tests of the pure Pod.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod invariants;
mod requests;
mod transitions;

use std::time::Duration;

use mock_vipu::{Hardware, Nanos, Pod, Refusal, Settings};
use vipu_client::wire::{
    CreatePartitionRequest, PartitionOperationState as Operation, PartitionReadyState as Ready,
    PartitionRequirements,
};

/// The time at which the tests begin.
const START: Nanos = Nanos(1_000_000_000_000);

fn after(seconds: u64) -> Nanos {
    START + Duration::from_secs(seconds)
}

/// Returns the time at which a partition is gone whose removal ends after `seconds`.
fn gone_after(seconds: u64) -> Nanos {
    after(seconds) + Duration::from_millis(300)
}

/// Makes a Pod with the default times: creates take 2 s, removals 1 s, and removed partitions are shown for
/// 300 ms.
fn pod(hardware: Hardware) -> Pod {
    Pod::new(hardware, Settings::default()).unwrap()
}

fn pod64() -> Pod {
    pod(Hardware::preset("pod64").unwrap())
}

fn wanted(id: &str, size: u32) -> PartitionRequirements {
    PartitionRequirements { id: id.to_owned(), size, ..PartitionRequirements::default() }
}

fn request(requirements: PartitionRequirements) -> CreatePartitionRequest {
    CreatePartitionRequest { requirements: Some(requirements) }
}

fn create(pod: &mut Pod, id: &str, size: u32, now: Nanos) -> Result<String, Refusal> {
    pod.create(&request(wanted(id, size)), now)
}

/// Returns the state in the API's words, and the first error.
fn state(pod: &mut Pod, id: &str, now: Nanos) -> (Ready, Operation, String) {
    let status = pod.status(id, now).unwrap();
    let error = status.errors.first().cloned().unwrap_or_default();
    (status.ready_state(), status.operation_state(), error)
}

fn is_active(pod: &mut Pod, id: &str, now: Nanos) -> bool {
    state(pod, id, now) == (Ready::PsActive, Operation::PosIdle, String::new())
}

/// Returns the IPUs of a listed partition.
fn ipus(pod: &mut Pod, id: &str, now: Nanos) -> Vec<u32> {
    let listed = pod.list("", now).unwrap();
    let spec = listed.into_iter().find(|partition| partition.id == id).unwrap().spec.unwrap();
    spec.ipus.iter().map(|ipu| ipu.ipulink_domain_topology_id * 64 + ipu.topology_id).collect()
}
