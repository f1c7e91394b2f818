//! Blocks of IPUs that belong to hosts.

use ledger::{Candidate, Event, Place, Placement, Seconds};
use vipu_types::ModelName;

use crate::script::{asks, id, jobs, pod_with, seen};

#[test]
fn mode_host_block_is_free_when_the_last_of_its_ipus_is() {
    let mut scripted = pod_with(Placement::Explicit, &[(1, 16, 0), (2, 16, 32)]);
    let (pod64, line) = (ModelName::new("pod64").unwrap(), jobs(5, &[(1, 100), (2, 200)]));
    let mut free_at = |ipus| scripted.ledger.block_free_at(&pod64, &ipus, &line).map(|at| at.0);
    assert_eq!([free_at(16..32), free_at(0..32), free_at(0..64)], [Some(5), Some(101), Some(201)]);
    assert_eq!(free_at(64..128), None, "the Pod has no such IPUs");
    scripted.lists(vec![seen("slurm_1", 0..16), seen("slurm_2", 32..48), seen("other", 20..21)]);
    assert_eq!(scripted.ledger.block_free_at(&pod64, &(16..32), &line), None);
    let candidates = [2, 1].map(|job| Candidate { job, dying: false });
    let mut victims = |ipus| scripted.ledger.victims_on_block(&pod64, &ipus, &candidates, &line);
    assert_eq!([victims(0..16), victims(48..64), victims(0..32)], [Some(vec![1]), Some(vec![]), None]);
    assert_eq!(victims(32..64), Some(vec![2]));
    let places = scripted.ledger.places_of(&pod64, &(62..66));
    assert_eq!([places[1], places[2]], [Place { domain: 0, index: 63 }, Place { domain: 1, index: 0 }]);
}

#[test]
fn mode_host_ipus_that_are_broken_are_known_by_place() {
    let mut scripted = pod_with(Placement::Explicit, &[]);
    let (pod64, line) = (ModelName::new("pod64").unwrap(), jobs(5, &[]));
    let places = (16..32).map(|index| Place { domain: 0, index }).collect();
    scripted.tell(Event::BrokenIpus { pod: id("pod64", "vipu"), places });
    scripted.lists(vec![]);
    let mut free_at = |ipus| scripted.ledger.block_free_at(&pod64, &ipus, &line);
    assert_eq!([free_at(0..16), free_at(16..32)], [Some(Seconds(5)), None]);
    assert_eq!(asks(&scripted, "pod64", 64), "vipu: 64 IPUs of pod64 needed, 48 free, largest block 32");
    scripted.tell(Event::BrokenIpus { pod: id("pod64", "vipu"), places: vec![] });
    assert_eq!(asks(&scripted, "pod64", 64), "fits");
}

#[test]
fn mode_host_that_is_mended_wakes_the_scheduler_beside_a_larger_free_block() {
    let mut scripted = pod_with(Placement::Explicit, &[]);
    let at = |ipus: std::ops::Range<u32>| ipus.map(|index| Place { domain: 0, index }).collect::<Vec<_>>();
    let broken = |places| Event::BrokenIpus { pod: id("pod64", "vipu"), places };
    scripted.tell(broken(at(0..48)));
    scripted.tell(broken(at(0..32)));
    assert_eq!(scripted.tell(broken(at(0..16))), "kick");
}
