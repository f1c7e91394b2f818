//! The calls that change nothing.

use mock_vipu::{Effect, Fault, Incident};
use vipu_client::wire::{GatewayRoutingType as Gateway, IpuLinkRoutingType as Link};

use super::*;

#[test]
fn an_empty_config_can_be_injected() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::ConfigEmpty).times(1));
    create(&mut pod, "p", 4, START).unwrap();
    assert_eq!(pod.config("p", after(2)).unwrap().gcd_configs, []);
    assert_eq!(pod.config("p", after(2)).unwrap().gcd_configs.len(), 1);
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

#[test]
fn attributes_tell_owners_and_faults() {
    let mut pod = pod(Hardware::preset("pod16").unwrap());
    create(&mut pod, "p", 2, START).unwrap();
    pod.cause(&Incident::IpuFault { agent: "ag2".into(), ipu: 1 }, START).unwrap();
    pod.cause(&Incident::AgentDown { agent: "ag3".into() }, START).unwrap();
    let entries = pod.ipu_attributes(&[], START).unwrap();
    let attribute = |agent: usize, ipu: u32, name: &str| {
        entries[agent].ipu_attributes[&ipu].attributes.get(name).map(String::as_str)
    };
    assert_eq!(entries.len(), 4);
    assert_eq!(attribute(0, 3, "ipuof partition id"), Some("p"));
    assert_eq!(attribute(0, 1, "ipuof partition id"), None);
    assert_eq!(attribute(1, 0, "ipu error state"), Some("no errors"));
    assert_eq!(attribute(1, 1, "ipu error state"), Some("hardware error"));
    assert_eq!(attribute(2, 0, "ipu error state"), Some("agent unreachable"));
    let named = pod.ipu_attributes(&["ag4".to_owned()], START).unwrap();
    assert_eq!(named.iter().map(|entry| entry.agent.as_str()).collect::<Vec<_>>(), ["ag4"]);
}
