//! The calls that change nothing.

use mock_vipu::{Effect, Fault};
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
