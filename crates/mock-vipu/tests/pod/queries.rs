//! The calls that change nothing.

use mock_vipu::{Effect, Fault, Incident};
use tonic::Code;
use vipu_client::wire::{GatewayRoutingType as Gateway, IpuLinkRoutingType as Link};

use super::*;

#[test]
fn the_config_has_a_device_for_each_ipu_of_each_gcd() {
    let mut pod = pod64();
    create(&mut pod, "other", 4, START).unwrap();
    let two = PartitionRequirements { num_gcds: 2, ..wanted("p", 8) };
    pod.create(&request(two), START).unwrap();
    assert_eq!(pod.config("p", None, START).unwrap_err().code, Code::FailedPrecondition);
    let config = pod.config("p", None, after(2)).unwrap();
    assert_eq!(config.gcd_configs.len(), 2);
    let second = &config.gcd_configs[1];
    let devices: Vec<_> =
        second.devices.iter().map(|device| (device.ip.as_str(), device.routing_id, device.ipu_id)).collect();
    assert_eq!(devices, [("10.1.5.4", 4, 3), ("10.1.5.4", 5, 2), ("10.1.5.4", 6, 1), ("10.1.5.4", 7, 0)]);
    assert_eq!(second.attributes["GCD Id"], "1");
    assert_eq!(second.attributes["Fabric Reconfigurable"], "false");
    let one = pod.config("p", Some(1), after(2)).unwrap();
    assert_eq!(one.gcd_configs.first(), Some(second));
    assert_eq!(pod.config("p", Some(2), after(2)).unwrap_err().code, Code::NotFound);
}

#[test]
fn an_empty_config_can_be_injected() {
    let mut pod = pod64();
    pod.inject(Fault::new(Effect::ConfigEmpty).times(1));
    create(&mut pod, "p", 4, START).unwrap();
    assert_eq!(pod.config("p", None, after(2)).unwrap().gcd_configs, []);
    assert_eq!(pod.config("p", None, after(2)).unwrap().gcd_configs.len(), 1);
}

#[test]
fn routing_follows_from_size_and_topology() {
    let routing = |hardware: Hardware, size, segments| {
        let mut pod = pod(hardware);
        let wanted =
            PartitionRequirements { num_gcds: segments, num_ipulink_segments: segments, ..wanted("p", size) };
        pod.create(&request(wanted), START).unwrap();
        let config = pod.config("p", None, after(2)).unwrap();
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
    assert_eq!(attribute(0, 2, "ipuof routing id"), Some("1"));
    assert_eq!(attribute(0, 1, "ipuof partition id"), None);
    assert_eq!(attribute(1, 0, "ipu error state"), Some("no errors"));
    assert_eq!(attribute(1, 1, "ipu error state"), Some("hardware error"));
    assert_eq!(attribute(2, 0, "ipu error state"), Some("agent unreachable"));
    let named = pod.ipu_attributes(&["ag4".to_owned()], START).unwrap();
    assert_eq!(named.iter().map(|entry| entry.agent.as_str()).collect::<Vec<_>>(), ["ag4"]);
}

#[test]
fn the_version_can_change() {
    let mut pod = pod64();
    assert_eq!(pod.version(), "1.18.0");
    pod.inject(Fault::new(Effect::Version { version: "2.0".into() }));
    assert_eq!(pod.version(), "2.0");
    pod.clear_faults();
    assert_eq!(pod.version(), "1.18.0");
}
