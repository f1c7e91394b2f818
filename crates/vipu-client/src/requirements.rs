//! The requirements of a new partition.

use vipu_types::{GatewayRouting, IpuCount, LinkRouting, PartitionId, Place, Shape, Sync};

use crate::wire::{self, GatewayRoutingType, IpuLinkRoutingType, SyncType};

/// The requirements of a new partition. Zero and `None` leave a choice to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// The name of the partition.
    pub id: PartitionId,
    /// The number of IPUs.
    pub size: IpuCount,
    /// The allocation of the IPUs; `None` means any with room.
    pub allocation: Option<String>,
    /// The cluster; needed with `ipus`, otherwise superseded by `allocation`.
    pub cluster: Option<String>,
    /// Exactly these IPUs, in routing order. If empty, the controller chooses.
    pub ipus: Vec<Place>,
    /// The division and the wiring.
    pub shape: Shape,
    /// The number of IPU-Link domains to spread over; 0 means one. See [`Requirements::across`].
    pub num_segments: u32,
}

impl Requirements {
    /// Creates the requirements of a partition of `size` IPUs, with everything else left to the controller.
    pub fn new(id: PartitionId, size: IpuCount) -> Self {
        let (shape, ipus) = (Shape::OPEN, Vec::new());
        Self { id, size, allocation: None, cluster: None, ipus, shape, num_segments: 0 }
    }

    /// Fits the request to IPU-Link domains of `domain_size` IPUs. It gets as many segments as the size
    /// needs, and at least one GCD in each segment, which V-IPU demands of partitions beyond one domain.
    pub fn across(mut self, domain_size: IpuCount) -> Self {
        self.num_segments = self.size.domains(domain_size);
        if self.num_segments > 1 {
            self.shape.gcds = self.shape.gcds.max(self.num_segments);
        }
        self
    }
}

impl From<&Requirements> for wire::CreatePartitionRequest {
    fn from(wanted: &Requirements) -> Self {
        let Shape { gcds, replicas, reconfigurable, sync, link_routing, gateway_routing } = wanted.shape;
        let requirements = wire::PartitionRequirements {
            id: wanted.id.to_string(),
            size: wanted.size.get(),
            cluster_id: wanted.cluster.clone().unwrap_or_default(),
            ipulink_routing_type: link_routing.map_or(0, |routing| link_routing_type(routing).into()),
            num_ipulink_segments: wanted.num_segments,
            gw_routing_type: gateway_routing.map_or(0, |routing| gateway_routing_type(routing).into()),
            sync_type: sync.map_or(0, |sync| sync_type(sync).into()),
            num_gcds: gcds,
            reconfigurable: reconfigurable.unwrap_or(false),
            num_replicas: replicas.unwrap_or(0),
            allocation_id: wanted.allocation.clone().unwrap_or_default(),
            ipus: wanted.wire_ipus(),
        };
        Self { requirements: Some(requirements) }
    }
}

fn sync_type(sync: Sync) -> SyncType {
    match sync {
        Sync::C2Compatible => SyncType::StGs2Default,
        Sync::PodNativeDefault => SyncType::StPodNativeDefault,
        Sync::PodNativeReplicatedPipeline => SyncType::StPodNativeReplicatedPipeline,
    }
}

fn link_routing_type(routing: LinkRouting) -> IpuLinkRoutingType {
    match routing {
        LinkRouting::Dnc => IpuLinkRoutingType::IrtDnc,
        LinkRouting::Swnc => IpuLinkRoutingType::IrtSwnc,
        LinkRouting::Btnc => IpuLinkRoutingType::IrtBtnc,
        LinkRouting::RingSwnc => IpuLinkRoutingType::IrtRingswnc,
    }
}

fn gateway_routing_type(routing: GatewayRouting) -> GatewayRoutingType {
    match routing {
        GatewayRouting::Ring => GatewayRoutingType::GrtRing,
        GatewayRouting::SwRing => GatewayRoutingType::GrtSwring,
    }
}

impl Requirements {
    /// Returns the chosen IPUs, numbered by segment and by place in the segment in the order given.
    fn wire_ipus(&self) -> Vec<wire::PartitionIpu> {
        let mut domains: Vec<(u32, u32)> = Vec::new();
        let numbered = self.ipus.iter().map(|place| {
            let segment = domains.iter().position(|(domain, _)| *domain == place.domain);
            let segment = segment.unwrap_or_else(|| {
                domains.push((place.domain, 0));
                domains.len() - 1
            });
            let routing_id = domains[segment].1;
            domains[segment].1 += 1;
            wire::PartitionIpu {
                ipulink_domain_topology_id: place.domain,
                ipulink_domain_routing_id: u32::try_from(segment).unwrap_or(u32::MAX),
                topology_id: place.index,
                routing_id,
            }
        });
        numbered.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(size: u64) -> Requirements {
        Requirements::new(PartitionId::new("p").unwrap(), IpuCount::new(size).unwrap())
    }

    #[test]
    fn a_partition_beyond_one_domain_gets_a_gcd_in_each() {
        let domain = IpuCount::new(64).unwrap();
        let eight = Shape { gcds: 8, ..Shape::OPEN };
        let counts = |wanted: Requirements| (wanted.num_segments, wanted.shape.gcds);
        assert_eq!(counts(wanted(16).across(domain)), (1, 0));
        assert_eq!(counts(wanted(256).across(domain)), (4, 4));
        assert_eq!(counts(Requirements { shape: eight, ..wanted(128) }.across(domain)), (2, 8));
    }

    #[test]
    fn chosen_ipus_are_numbered_within_their_segment() {
        let places = [(1, 5), (1, 4), (0, 7)].map(|(domain, index)| Place { domain, index });
        let request = wire::CreatePartitionRequest::from(&Requirements { ipus: places.into(), ..wanted(4) });
        let ids = |ipu: &wire::PartitionIpu| {
            (ipu.ipulink_domain_topology_id, ipu.topology_id, ipu.ipulink_domain_routing_id, ipu.routing_id)
        };
        let numbered: Vec<_> = request.requirements.unwrap().ipus.iter().map(ids).collect();
        assert_eq!(numbered, [(1, 5, 0, 0), (1, 4, 0, 1), (0, 7, 1, 0)]);
    }

    #[test]
    fn sync_and_routing_have_the_numbers_of_the_api() {
        let numbers = |shape| {
            let wanted = Requirements { shape, ..wanted(4) };
            let sent = wire::CreatePartitionRequest::from(&wanted).requirements.unwrap();
            (sent.sync_type, sent.ipulink_routing_type, sent.gw_routing_type)
        };
        assert_eq!(numbers(Shape::OPEN), (0, 0, 0), "the controller's choice");
        let sync = Some(Sync::PodNativeDefault);
        let (link_routing, gateway_routing) = (Some(LinkRouting::RingSwnc), Some(GatewayRouting::SwRing));
        assert_eq!(numbers(Shape { sync, link_routing, gateway_routing, ..Shape::OPEN }), (3, 4, 3));
    }
}
