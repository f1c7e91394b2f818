//! Requests: the codes of refusals, defaults and places.

use std::ops::RangeInclusive;

use mock_vipu::{Allocation, Hardware, Placement, Pod, Settings};
use tonic::Code;
use vipu_client::wire::{
    GatewayRoutingType as Gateway, IpuLinkRoutingType as Link, PartitionIpu, PartitionRequirements, SyncType,
};

use super::*;

fn code(pod: &mut Pod, requirements: PartitionRequirements) -> Code {
    pod.create(&request(requirements), START).map_or_else(|refusal| refusal.code, |_| Code::Ok)
}

#[test]
fn an_invalid_request_is_an_invalid_argument() {
    let base = || wanted("p", 4);
    let cases = [
        ("empty id", wanted("", 4)),
        ("long id", wanted(&"x".repeat(37), 4)),
        ("bad id", wanted("a b", 4)),
        ("no size", wanted("p", 0)),
        ("no power of two", wanted("p", 3)),
        ("gcds do not divide", PartitionRequirements { num_gcds: 3, ..base() }),
        ("replicas do not divide", PartitionRequirements { num_gcds: 2, num_replicas: 3, ..base() }),
        ("reconfigurable gcds", PartitionRequirements { num_gcds: 2, reconfigurable: true, ..base() }),
        (
            "reconfigurable sync",
            PartitionRequirements {
                reconfigurable: true,
                sync_type: SyncType::StPodNativeDefault.into(),
                ..base()
            },
        ),
        ("unknown sync", PartitionRequirements { sync_type: 9, ..base() }),
        ("too few segments", PartitionRequirements { num_gcds: 2, ..wanted("p", 128) }),
        ("too few gcds", PartitionRequirements { num_ipulink_segments: 2, ..wanted("p", 128) }),
        ("ipus without cluster", PartitionRequirements { ipus: places(0..=3), ..base() }),
    ];
    for (what, requirements) in cases {
        let mut pod = pod(Hardware::preset("pod128").unwrap());
        assert_eq!(code(&mut pod, requirements), Code::InvalidArgument, "{what}");
        assert_eq!(pod.free_ipus(), 128, "{what}");
    }
    assert_eq!(
        pod64().create(&CreatePartitionRequest::default(), START).unwrap_err().code,
        Code::InvalidArgument
    );
}

#[test]
fn left_out_fields_have_defaults() {
    let mut pod = pod64();
    let sync = SyncType::StGs2Default.into();
    let explicit =
        PartitionRequirements { num_gcds: 2, num_replicas: 4, sync_type: sync, ..wanted("explicit", 4) };
    assert_eq!(code(&mut pod, explicit), Code::Ok);
    assert_eq!(code(&mut pod, wanted("plain", 4)), Code::Ok);
    let specs = pod.list("", START).unwrap().into_iter().map(|partition| partition.spec.unwrap());
    let told: Vec<_> = specs
        .map(|spec| (spec.num_gcds, spec.num_replicas, spec.num_ipulink_segments, spec.sync_type))
        .collect();
    assert_eq!(told, [(2, 4, 1, sync), (1, 1, 1, sync)]);
}

#[test]
fn names_are_unique_until_the_partition_is_gone() {
    let mut pod = pod64();
    create(&mut pod, "p", 1, START).unwrap();
    pod.remove("p", false, after(5)).unwrap();
    assert_eq!(create(&mut pod, "p", 1, after(5)).unwrap_err().code, Code::AlreadyExists);
    assert_eq!(create(&mut pod, "p", 1, after(6)).unwrap_err().code, Code::AlreadyExists);
    assert!(create(&mut pod, "p", 1, gone_after(6)).is_ok());
}

#[test]
fn unknown_names_are_not_found() {
    let mut pod = pod64();
    let allocation = PartitionRequirements { allocation_id: "none".into(), ..wanted("p", 4) };
    let cluster = PartitionRequirements { cluster_id: "none".into(), ..wanted("p", 4) };
    assert_eq!(code(&mut pod, allocation), Code::NotFound);
    assert_eq!(code(&mut pod, cluster), Code::NotFound);
    assert_eq!(pod.status("p", START).unwrap_err().code, Code::NotFound);
    assert_eq!(pod.remove("p", true, START).unwrap_err().code, Code::NotFound);
    assert_eq!(pod.config("p", START).unwrap_err().code, Code::NotFound);
    assert_eq!(pod.list("none", START).unwrap_err().code, Code::NotFound);
    assert_eq!(pod.ipu_attributes(&["ag17".to_owned()], START).unwrap_err().code, Code::NotFound);
}

#[test]
fn refusal_distinguishes_scarcity_from_fragmentation() {
    let hardware = Hardware::preset("pod16").unwrap();
    let settings = Settings { placement: Placement::Scatter, ..Settings::default() };
    let mut pod = Pod::new(hardware, settings).unwrap();
    create(&mut pod, "a", 1, START).unwrap();
    create(&mut pod, "b", 1, START).unwrap();
    let fragmented = create(&mut pod, "c", 8, START).unwrap_err();
    assert_eq!(
        fragmented.to_string(),
        "14 IPUs are free, but no 8 of them lie together (RESOURCE_EXHAUSTED)"
    );
    let scarce = create(&mut pod, "c", 16, START).unwrap_err();
    assert_eq!(scarce.to_string(), "16 IPUs wanted, 14 are free (RESOURCE_EXHAUSTED)");
}

#[test]
fn a_partition_keeps_to_one_allocation() {
    let allocation = |name: &str, agents: RangeInclusive<u32>| Allocation { name: name.to_owned(), agents };
    let hardware = Hardware {
        allocations: vec![allocation("a", 0..=2), allocation("b", 3..=3)],
        ..Hardware::preset("pod16").unwrap()
    };
    let mut pod = pod(hardware);
    assert_eq!(create(&mut pod, "whole", 16, START).unwrap_err().code, Code::ResourceExhausted);
    let in_b = |id: &str, size| PartitionRequirements { allocation_id: "b".into(), ..wanted(id, size) };
    assert_eq!(code(&mut pod, in_b("eight", 8)), Code::ResourceExhausted);
    assert_eq!(code(&mut pod, in_b("four", 4)), Code::Ok);
    assert_eq!(ipus(&mut pod, "four", START), [12, 13, 14, 15]);
    create(&mut pod, "any", 8, START).unwrap();
    assert_eq!(ipus(&mut pod, "any", START), (0..8).collect::<Vec<_>>());
    let of_a: Vec<_> = pod.list("a", START).unwrap().into_iter().map(|partition| partition.id).collect();
    assert_eq!(of_a, ["any"]);
}

#[test]
fn ipus_can_be_chosen() {
    let mut pod = pod64();
    let chosen = |id: &str, range| PartitionRequirements {
        cluster_id: "pod64".into(),
        ipus: places(range),
        ..wanted(id, 4)
    };
    assert_eq!(code(&mut pod, chosen("ok", 8..=11)), Code::Ok);
    assert_eq!(ipus(&mut pod, "ok", START), [8, 9, 10, 11]);
    assert_eq!(code(&mut pod, chosen("taken", 8..=11)), Code::ResourceExhausted);
    assert_eq!(code(&mut pod, chosen("askew", 13..=16)), Code::InvalidArgument);
    assert_eq!(code(&mut pod, chosen("few", 16..=17)), Code::InvalidArgument);
    assert_eq!(code(&mut pod, chosen("beyond", 64..=67)), Code::InvalidArgument);
}

fn places(range: RangeInclusive<u32>) -> Vec<PartitionIpu> {
    range.map(|topology_id| PartitionIpu { topology_id, ..PartitionIpu::default() }).collect()
}

#[test]
fn a_large_partition_takes_whole_domains() {
    let mut pod = pod(Hardware::new(192));
    create(&mut pod, "one", 1, START).unwrap();
    let two = PartitionRequirements { num_ipulink_segments: 2, num_gcds: 2, ..wanted("two", 128) };
    assert_eq!(code(&mut pod, two), Code::ResourceExhausted, "domains 1 and 2 are free, but not a pair");
    pod.remove("one", false, after(2)).unwrap();
    let two = PartitionRequirements { num_ipulink_segments: 2, num_gcds: 2, ..wanted("two", 128) };
    pod.create(&request(two), gone_after(3)).unwrap();
    let listed = pod.list("", gone_after(3)).unwrap().remove(0).spec.unwrap();
    let last = listed.ipus.last().unwrap();
    let ids =
        (last.ipulink_domain_topology_id, last.ipulink_domain_routing_id, last.topology_id, last.routing_id);
    assert_eq!((listed.ipus.len(), ids), (128, (1, 1, 63, 63)));
}

#[test]
fn routing_follows_from_size_and_topology() {
    let routing = |hardware: Hardware, size, segments| {
        let mut pod = pod(hardware);
        let wanted =
            PartitionRequirements { num_gcds: segments, num_ipulink_segments: segments, ..wanted("p", size) };
        pod.create(&request(wanted), START).unwrap();
        let config = pod.config("p", after(2)).unwrap();
        (config.ipulink_routing_type(), config.gw_routing_type())
    };
    let torus = || Hardware::preset("pod128").unwrap();
    assert_eq!(routing(torus(), 32, 1), (Link::IrtDnc, Gateway::GrtUndefined));
    assert_eq!(routing(torus(), 64, 1), (Link::IrtRingswnc, Gateway::GrtUndefined));
    assert_eq!(routing(torus(), 128, 2), (Link::IrtRingswnc, Gateway::GrtRing));
}
