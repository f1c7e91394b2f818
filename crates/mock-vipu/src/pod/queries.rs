//! The calls that only look.

use std::collections::BTreeMap;

use vipu_client::wire::{
    IpuofDevice, Partition as WirePartition, PartitionConfig, PartitionIpu, PartitionSpec, PartitionStatus,
    list_ipu_attributes_reply::{Entry, entry::Attributes},
    partition_config::Gcd,
};

use super::faults::Effect;
use super::hardware::{MACHINE, agent_name, agent_of, hardware_id};
use super::partition::{Partition, State};
use super::transitions::MAX_AUTO_RESETS;
use super::{Pod, Refusal};
use crate::nanos::Nanos;

const MACHINE_SOFTWARE: &str = "2.6.0";
const IPU_ARCHITECTURE: u32 = 2;

impl Pod {
    /// ListPartitions.
    ///
    /// # Errors
    /// No such allocation.
    pub fn list(&mut self, allocation: &str, now: Nanos) -> Result<Vec<WirePartition>, Refusal> {
        self.advance(now);
        if !allocation.is_empty() && self.ipus.hardware.allocation(allocation).is_none() {
            return Err(Refusal::not_found("allocation", allocation));
        }
        let listed = self.partitions.values();
        let listed = listed.filter(|partition| allocation.is_empty() || partition.allocation == allocation);
        Ok(listed.map(|partition| self.listed(partition)).collect())
    }

    /// GetPartitionStatus.
    ///
    /// # Errors
    /// No such partition.
    pub fn status(&mut self, id: &str, now: Nanos) -> Result<PartitionStatus, Refusal> {
        self.advance(now);
        let partition = self.partitions.get(id).ok_or_else(|| Refusal::not_found("partition", id))?;
        let (ready, operation) = partition.state.told();
        Ok(PartitionStatus {
            partition_id: id.to_owned(),
            ready_state: ready.into(),
            operation_state: operation.into(),
            errors: partition.errors.clone(),
            max_auto_reset_retries: MAX_AUTO_RESETS,
            auto_reset_retry_count: partition.resets,
            last_auto_reset_time: partition.last_reset.map(Into::into),
        })
    }

    /// GetPartitionIpuofConfig: of one GCD, or of all.
    ///
    /// # Errors
    /// No such partition or GCD, or the partition is not ACTIVE.
    pub fn config(&mut self, id: &str, gcd: Option<u32>, now: Nanos) -> Result<PartitionConfig, Refusal> {
        self.advance(now);
        let empty = |effect: &Effect| matches!(effect, Effect::ConfigEmpty).then_some(());
        let empty = self.faults.take(id, empty).is_some();
        let partition = self.partitions.get(id).ok_or_else(|| Refusal::not_found("partition", id))?;
        if partition.state != State::Active {
            return Err(Refusal::not_ready(format!("partition '{id}' is not active")));
        }
        let spec = &partition.spec;
        let gcds = match gcd {
            Some(one) if one >= spec.gcds => return Err(Refusal::not_found("GCD", &one.to_string())),
            Some(one) => one..one + 1,
            None => 0..spec.gcds,
        };
        Ok(PartitionConfig {
            ipulink_routing_type: spec.ipulink_routing,
            sync_type: spec.sync_type,
            reconfigurable: spec.reconfigurable,
            gw_routing_type: spec.gateway_routing,
            num_ipulink_segments: spec.segments,
            gcd_configs: gcds.filter(|_| !empty).map(|gcd| self.gcd(partition, gcd)).collect(),
            ipuof_server_version: self.settings.version.clone(),
        })
    }

    /// ListIPUAttributes: of the agents named, or of all.
    ///
    /// # Errors
    /// No such agent.
    pub fn ipu_attributes(&mut self, agents: &[String], now: Nanos) -> Result<Vec<Entry>, Refusal> {
        self.advance(now);
        let find =
            |name: &String| self.ipus.hardware.agent(name).ok_or_else(|| Refusal::not_found("agent", name));
        let listed = match agents {
            [] => (0..self.ipus.hardware.agents()).collect(),
            named => named.iter().map(find).collect::<Result<Vec<u32>, _>>()?,
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

    /// GetVersion.
    pub fn version(&mut self) -> String {
        let other = self.faults.take("", |effect| match effect {
            Effect::Version { version } => Some(version.clone()),
            _ => None,
        });
        other.unwrap_or_else(|| self.settings.version.clone())
    }

    fn listed(&self, partition: &Partition) -> WirePartition {
        let spec = &partition.spec;
        let domain = self.ipus.hardware.domain_size.get();
        let ipu = |ipu: u32| PartitionIpu {
            ipulink_domain_topology_id: ipu / domain,
            ipulink_domain_routing_id: (ipu - partition.block.first) / domain,
            topology_id: ipu % domain,
            routing_id: (ipu - partition.block.first) % domain,
        };
        let (ready, _) = partition.state.told();
        WirePartition {
            id: spec.id.clone(),
            spec: Some(PartitionSpec {
                cluster_id: self.ipus.hardware.cluster.clone(),
                ipus: partition.block.ipus().map(ipu).collect(),
                ipulink_routing_type: spec.ipulink_routing,
                sync_type: spec.sync_type,
                num_gcds: spec.gcds,
                num_ipulink_segments: spec.segments,
                reconfigurable: spec.reconfigurable,
                gw_routing_type: spec.gateway_routing,
                num_replicas: spec.replicas,
                allocation_id: partition.allocation.clone(),
            }),
            ready_state: ready.into(),
            ipuof_server_version: self.settings.version.clone(),
        }
    }

    fn gcd(&self, partition: &Partition, gcd: u32) -> Gcd {
        let per_gcd = partition.spec.size / partition.spec.gcds;
        let first = partition.block.first + gcd * per_gcd;
        let domain = self.ipus.hardware.domain_size.get();
        let device = |ipu: u32| IpuofDevice {
            ip: machine_address(agent_of(ipu)),
            server_port: 50_052,
            rdma_port: 10_000,
            device_id: hardware_id(ipu),
            ipulink_segment_id: (ipu - partition.block.first) / domain,
            routing_id: (ipu - partition.block.first) % domain,
            ipu_arch_id: IPU_ARCHITECTURE,
            ipu_id: hardware_id(ipu),
            chip_id: format!("mock-{}-{}", agent_of(ipu), hardware_id(ipu)),
            gwsw_version: MACHINE_SOFTWARE.to_owned(),
            ipum_sw_version: MACHINE_SOFTWARE.to_owned(),
        };
        let attributes = [
            ("GCD Id", gcd.to_string()),
            ("Fabric Reconfigurable", partition.spec.reconfigurable.to_string()),
        ];
        Gcd {
            devices: (first..first + per_gcd).map(device).collect(),
            attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    /// Of an IPU behind an agent that is down, nothing is known but that.
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
        tell("board ipu index", hardware_id(ipu).to_string());
        tell("board serial number", format!("mock-{agent}"));
        tell("board type", "M2000".into());
        tell("clock", "1330MHz".into());
        tell("driver version", MACHINE_SOFTWARE.into());
        tell("firmware version", MACHINE_SOFTWARE.into());
        tell("gateway software version", MACHINE_SOFTWARE.into());
        tell("ipu architecture", format!("ipu{IPU_ARCHITECTURE}"));
        tell("ipuof host", machine_address(agent));
        tell("ipuof server version", self.settings.version.clone());
        if let Some(owner) = owner {
            tell("ipuof partition id", owner.spec.id.clone());
            tell("ipuof routing id", (ipu - owner.block.first).to_string());
            tell("number of replicas", owner.spec.replicas.to_string());
            tell("reconfigurable partition", owner.spec.reconfigurable.to_string());
        }
        Attributes { attributes }
    }
}

/// The data address of an IPU-Machine.
fn machine_address(agent: u32) -> String {
    format!("10.1.{}.{}", 5 + agent / 250, 1 + agent % 250)
}
