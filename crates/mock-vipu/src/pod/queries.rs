//! The calls that change nothing.

use std::collections::BTreeMap;

use vipu_client::wire::{
    IpuofDevice, Partition as WirePartition, PartitionConfig, PartitionIpu, PartitionSpec, PartitionStatus,
    list_ipu_attributes_reply::{Entry, entry::Attributes},
    partition_config::Gcd,
};

use super::faults::Effect;
use super::hardware::{DOMAIN, MACHINE, agent_name, agent_of, hardware_id};
use super::partition::{Partition, State};
use super::{Nanos, Pod, Refusal};

/// The version of the controller.
pub(crate) const VERSION: &str = "1.18.0";
const MACHINE_SOFTWARE: &str = "2.6.0";
const IPU_ARCHITECTURE: u32 = 2;

impl Pod {
    /// ListPartitions.
    pub fn list(&mut self, allocation: &str, now: Nanos) -> Result<Vec<WirePartition>, Refusal> {
        self.advance(now);
        if !allocation.is_empty() && self.ipus.hardware.allocation(allocation).is_none() {
            return Err(Refusal::not_found("allocation", allocation));
        }
        let listed = self.partitions.values();
        let listed = listed.filter(|partition| allocation.is_empty() || partition.allocation == allocation);
        let mut listed = listed.map(|partition| self.listed(partition)).collect();
        if let Some(hands) = &mut self.other_hands {
            hands.change_listing(&mut listed, now);
        }
        Ok(listed)
    }

    /// GetPartitionStatus.
    pub fn status(&mut self, id: &str, now: Nanos) -> Result<PartitionStatus, Refusal> {
        self.advance(now);
        let partition = self.partitions.get(id);
        let (state, errors) = partition.map(|found| (found.state, found.errors.clone())).unzip();
        let state = match &mut self.other_hands {
            Some(hands) => hands.shown(id, state, now),
            None => state,
        };
        let (ready, operation) = state.ok_or_else(|| Refusal::not_found("partition", id))?.told();
        Ok(PartitionStatus {
            partition_id: id.to_owned(),
            ready_state: ready.into(),
            operation_state: operation.into(),
            errors: errors.unwrap_or_default(),
        })
    }

    /// GetPartitionIpuofConfig, for all GCDs.
    pub fn config(&mut self, id: &str, now: Nanos) -> Result<PartitionConfig, Refusal> {
        self.advance(now);
        let empty = |effect: &Effect| matches!(effect, Effect::ConfigEmpty).then_some(());
        let empty = self.faults.take(id, empty).is_some();
        let partition = self.partitions.get(id).ok_or_else(|| Refusal::not_found("partition", id))?;
        if partition.state != State::Active {
            return Err(Refusal::not_ready(format!("partition '{id}' is not active")));
        }
        let (spec, made) = (&partition.spec, &partition.spec.made);
        let gcds = if empty { 0..0 } else { 0..made.gcds };
        Ok(PartitionConfig {
            ipulink_routing_type: made.ipulink_routing,
            sync_type: made.sync_type,
            reconfigurable: made.reconfigurable,
            gw_routing_type: made.gateway_routing,
            num_ipulink_segments: spec.segments,
            gcd_configs: gcds.map(|gcd| self.gcd(partition, gcd)).collect(),
            ipuof_server_version: VERSION.to_owned(),
        })
    }

    /// ListIPUAttributes, for the agents named or for all.
    pub fn ipu_attributes(&mut self, agents: &[String], now: Nanos) -> Result<Vec<Entry>, Refusal> {
        self.advance(now);
        let listed = match agents {
            [] => (0..self.ipus.hardware.agents()).collect(),
            named => named.iter().map(|name| self.agent(name)).collect::<Result<Vec<u32>, _>>()?,
        };
        let mut owners = BTreeMap::new();
        for partition in self.partitions.values() {
            owners.extend(partition.block.ipus().map(|ipu| (ipu, partition)));
        }
        let entry = |agent: u32| {
            let ipus = (agent * MACHINE..).take(MACHINE as usize);
            let known = ipus.map(|ipu| (hardware_id(ipu), self.known_of(ipu, owners.get(&ipu).copied())));
            Entry { agent: agent_name(agent), ipu_attributes: known.collect() }
        };
        Ok(listed.into_iter().map(entry).collect())
    }

    pub(crate) fn listed(&self, partition: &Partition) -> WirePartition {
        let (spec, made) = (&partition.spec, &partition.spec.made);
        let ipu = |ipu: u32| PartitionIpu {
            ipulink_domain_topology_id: ipu / DOMAIN,
            ipulink_domain_routing_id: (ipu - partition.block.first) / DOMAIN,
            topology_id: ipu % DOMAIN,
            routing_id: (ipu - partition.block.first) % DOMAIN,
        };
        let (ready, _) = partition.state.told();
        WirePartition {
            id: spec.id.clone(),
            spec: Some(PartitionSpec {
                cluster_id: self.ipus.hardware.cluster.clone(),
                ipus: partition.block.ipus().map(ipu).collect(),
                ipulink_routing_type: made.ipulink_routing,
                sync_type: made.sync_type,
                num_gcds: made.gcds,
                num_ipulink_segments: spec.segments,
                reconfigurable: made.reconfigurable,
                gw_routing_type: made.gateway_routing,
                num_replicas: made.replicas,
                allocation_id: partition.allocation.clone(),
            }),
            ready_state: ready.into(),
            ipuof_server_version: VERSION.to_owned(),
        }
    }

    fn gcd(&self, partition: &Partition, gcd: u32) -> Gcd {
        let per_gcd = partition.spec.size / partition.spec.made.gcds;
        let first = partition.block.first + gcd * per_gcd;
        let device = |ipu: u32| IpuofDevice {
            ip: machine_address(agent_of(ipu)),
            server_port: 50_052,
            rdma_port: 10_000,
            device_id: hardware_id(ipu),
            ipulink_segment_id: (ipu - partition.block.first) / DOMAIN,
            routing_id: (ipu - partition.block.first) % DOMAIN,
            ipu_arch_id: IPU_ARCHITECTURE,
            ipu_id: hardware_id(ipu),
            chip_id: format!("mock-{}-{}", agent_of(ipu), hardware_id(ipu)),
            gwsw_version: MACHINE_SOFTWARE.to_owned(),
            ipum_sw_version: MACHINE_SOFTWARE.to_owned(),
        };
        let attributes = [
            ("GCD Id", gcd.to_string()),
            ("Fabric Reconfigurable", partition.spec.made.reconfigurable.to_string()),
        ];
        Gcd {
            devices: (first..first + per_gcd).map(device).collect(),
            attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    /// Returns the attributes of an IPU. Behind an agent that is down, its error state is the only one.
    fn known_of(&self, ipu: u32, owner: Option<&Partition>) -> Attributes {
        let agent = agent_of(ipu);
        let mut attributes = BTreeMap::new();
        let mut tell = |name: &str, value: String| attributes.insert(name.to_owned(), value);
        if self.ipus.down_agents.contains(&agent) {
            tell("ipu error state", "agent unreachable".into());
            return Attributes { attributes };
        }
        let faulty = self.ipus.faulty_ipus.contains(&ipu);
        tell("ipu error state", if faulty { "hardware error".into() } else { "no errors".into() });
        if let Some(owner) = owner {
            tell("ipuof partition id", owner.spec.id.clone());
        }
        Attributes { attributes }
    }
}

/// Returns the data address of an IPU-Machine.
fn machine_address(agent: u32) -> String {
    format!("10.1.{}.{}", 5 + agent / 250, 1 + agent % 250)
}
