//! Checks a request for a partition, and fills in defaults.

use serde::{Deserialize, Serialize};
use vipu_client::wire::{
    GatewayRoutingType, IpuLinkRoutingType, PartitionIpu, PartitionRequirements, SyncType,
};
use vipu_types::IpuCount;

use super::Refusal;
use super::hardware::{DOMAIN, Hardware};
use super::history::Made;
use super::placement::Block;

/// The properties of a partition, complete except its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) size: u32,
    /// The allocation, if the request names one.
    pub(crate) allocation: Option<String>,
    /// The block, if the request names its IPUs.
    pub(crate) chosen: Option<Block>,
    pub(crate) segments: u32,
    pub(crate) relocatable: bool,
    #[serde(flatten)]
    pub(crate) made: Made,
}

impl Spec {
    /// Returns the properties that a request asks for. The name can be any text.
    pub(crate) fn of(wanted: PartitionRequirements, pod: &Hardware) -> Result<Self, Refusal> {
        let size = IpuCount::new(wanted.size.into()).map_err(Refusal::invalid)?;
        let segments = segments(&wanted, size)?;
        let (gcds, replicas) = gcds_and_replicas(&wanted, segments)?;
        check_enums(&wanted)?;
        if wanted.reconfigurable && gcds > 1 {
            return Err(Refusal::invalid("a reconfigurable partition has one GCD"));
        }
        let sync_type = or_default(wanted.sync_type, SyncType::StGs2Default.into());
        if wanted.reconfigurable && sync_type != i32::from(SyncType::StGs2Default) {
            return Err(Refusal::invalid("a reconfigurable partition has the default sync type"));
        }
        check_names(&wanted, pod)?;
        let chosen = chosen_block(&wanted, pod)?;
        let (ipulink, gateway) = default_routing(size);
        Ok(Self {
            size: size.get(),
            chosen,
            segments,
            relocatable: false,
            made: Made {
                gcds,
                replicas,
                reconfigurable: wanted.reconfigurable,
                sync_type,
                ipulink_routing: or_default(wanted.ipulink_routing_type, ipulink.into()),
                gateway_routing: or_default(wanted.gw_routing_type, gateway.into()),
            },
            id: wanted.id,
            allocation: Some(wanted.allocation_id).filter(|name| !name.is_empty()),
        })
    }
}

fn or_default(number: i32, default: i32) -> i32 {
    if number == 0 { default } else { number }
}

/// Returns the IPU-Link segments. A real controller can give a partition more than it needs; the mock cannot.
fn segments(wanted: &PartitionRequirements, size: IpuCount) -> Result<u32, Refusal> {
    let (asked, needed) = (wanted.num_ipulink_segments.max(1), size.get().div_ceil(DOMAIN));
    if asked == needed {
        return Ok(needed);
    }
    Err(Refusal::invalid(format!(
        "{size} IPUs in IPU-Link domains of {DOMAIN} have {needed} IPU-Link segments, not {asked}"
    )))
}

fn gcds_and_replicas(wanted: &PartitionRequirements, segments: u32) -> Result<(u32, u32), Refusal> {
    let gcds = wanted.num_gcds.max(1);
    if !wanted.size.is_multiple_of(gcds) {
        return Err(Refusal::invalid(format!("{} IPUs cannot be divided among {gcds} GCDs", wanted.size)));
    }
    if gcds < segments {
        return Err(Refusal::invalid(format!("{segments} IPU-Link segments need at least as many GCDs")));
    }
    let replicas = if wanted.num_replicas == 0 { gcds } else { wanted.num_replicas };
    if !replicas.is_multiple_of(gcds) {
        return Err(Refusal::invalid(format!("{replicas} replicas cannot be divided among {gcds} GCDs")));
    }
    Ok((gcds, replicas))
}

fn check_enums(wanted: &PartitionRequirements) -> Result<(), Refusal> {
    let known = SyncType::try_from(wanted.sync_type).is_ok()
        && IpuLinkRoutingType::try_from(wanted.ipulink_routing_type).is_ok()
        && GatewayRoutingType::try_from(wanted.gw_routing_type).is_ok();
    if known { Ok(()) } else { Err(Refusal::invalid("an unknown sync or routing type")) }
}

fn check_names(wanted: &PartitionRequirements, pod: &Hardware) -> Result<(), Refusal> {
    if !wanted.cluster_id.is_empty() && wanted.cluster_id != pod.cluster {
        return Err(Refusal::not_found("cluster", &wanted.cluster_id));
    }
    if !wanted.allocation_id.is_empty() && pod.allocation(&wanted.allocation_id).is_none() {
        return Err(Refusal::not_found("allocation", &wanted.allocation_id));
    }
    Ok(())
}

fn default_routing(size: IpuCount) -> (IpuLinkRoutingType, GatewayRoutingType) {
    let none = GatewayRoutingType::GrtUndefined;
    match size.get().cmp(&DOMAIN) {
        std::cmp::Ordering::Less => (IpuLinkRoutingType::IrtDnc, none),
        std::cmp::Ordering::Equal => (IpuLinkRoutingType::IrtRingswnc, none),
        std::cmp::Ordering::Greater => (IpuLinkRoutingType::IrtRingswnc, GatewayRoutingType::GrtRing),
    }
}

/// Returns the block that a request names. Its IPUs, in any order, must be an aligned block.
fn chosen_block(wanted: &PartitionRequirements, pod: &Hardware) -> Result<Option<Block>, Refusal> {
    if wanted.ipus.is_empty() {
        return Ok(None);
    }
    if wanted.cluster_id.is_empty() {
        return Err(Refusal::invalid("IPUs are named, but not the cluster they are in"));
    }
    let number = |ipu: &PartitionIpu| {
        let number = ipu.ipulink_domain_topology_id.checked_mul(DOMAIN)?.checked_add(ipu.topology_id)?;
        (ipu.topology_id < DOMAIN && number < pod.ipus).then_some(number)
    };
    let numbers = wanted.ipus.iter().map(number).collect::<Option<Vec<u32>>>();
    let mut numbers = numbers.ok_or_else(|| Refusal::invalid("an IPU is named that is not there"))?;
    numbers.sort_unstable();
    let first = numbers.first().copied().unwrap_or_default();
    let block = Block { first, size: wanted.size };
    if first.is_multiple_of(wanted.size) && numbers.into_iter().eq(block.ipus()) {
        Ok(Some(block))
    } else {
        Err(Refusal::invalid(format!("the IPUs named are no aligned block of {}", wanted.size)))
    }
}
