//! The rights of a caller: which allocations it may use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use vipu_client::wire::list_ipu_attributes_reply::Entry;
use vipu_client::wire::{
    CreatePartitionRequest, Partition as WirePartition, PartitionConfig, PartitionStatus,
};

use super::hardware::Hardware;
use super::{Pod, Refusal};
use crate::nanos::Nanos;

/// Which allocations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Allocations {
    /// All there are, and the agents that are in none.
    All,
    /// Those of these names.
    Only(BTreeSet<String>),
}

impl Allocations {
    pub(crate) fn include(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    pub(crate) fn have_agent(&self, agent: u32, hardware: &Hardware) -> bool {
        match self {
            Self::All => true,
            Self::Only(_) => hardware.allocation_of(agent).is_some_and(|found| self.include(&found.name)),
        }
    }
}

/// A Pod in the hands of somebody who sees and may touch only what lies in the allocations granted.
pub(crate) struct Caller<'a> {
    pub(crate) pod: &'a mut Pod,
    pub(crate) granted: &'a Allocations,
}

impl Caller<'_> {
    pub(crate) fn create(&mut self, request: &CreatePartitionRequest, now: Nanos) -> Result<String, Refusal> {
        self.pod.create_within(self.granted, request, now)
    }

    pub(crate) fn remove(&mut self, id: &str, force: bool, now: Nanos) -> Result<(), Refusal> {
        self.pod_for(id, now)?.remove(id, force, now)
    }

    pub(crate) fn reset(&mut self, id: &str, relocatable: bool, now: Nanos) -> Result<(), Refusal> {
        self.pod_for(id, now)?.reset(id, relocatable, now)
    }

    pub(crate) fn status(&mut self, id: &str, now: Nanos) -> Result<PartitionStatus, Refusal> {
        self.pod_for(id, now)?.status(id, now)
    }

    pub(crate) fn config(
        &mut self,
        id: &str,
        gcd: Option<u32>,
        now: Nanos,
    ) -> Result<PartitionConfig, Refusal> {
        self.pod_for(id, now)?.config(id, gcd, now)
    }

    pub(crate) fn list(&mut self, allocation: &str, now: Nanos) -> Result<Vec<WirePartition>, Refusal> {
        let mut listed = self.pod.list(allocation, now)?;
        if !allocation.is_empty() && !self.granted.include(allocation) {
            return Err(Refusal::denied("allocation", allocation));
        }
        listed.retain(|partition| {
            partition.spec.as_ref().is_some_and(|spec| self.granted.include(&spec.allocation_id))
        });
        Ok(listed)
    }

    pub(crate) fn ipu_attributes(&mut self, agents: &[String], now: Nanos) -> Result<Vec<Entry>, Refusal> {
        let mut listed = self.pod.ipu_attributes(agents, now)?;
        let hardware = &self.pod.ipus.hardware;
        let granted =
            |name: &str| hardware.agent(name).is_some_and(|agent| self.granted.have_agent(agent, hardware));
        if let Some(denied) = agents.iter().find(|name| !granted(name)) {
            return Err(Refusal::denied("agent", denied));
        }
        listed.retain(|entry| granted(&entry.agent));
        Ok(listed)
    }

    pub(crate) fn version(&mut self) -> String {
        self.pod.version()
    }

    /// The Pod, for a call about a partition that the caller may touch, or that is not there.
    fn pod_for(&mut self, id: &str, now: Nanos) -> Result<&mut Pod, Refusal> {
        self.pod.advance(now);
        match self.pod.partitions.get(id) {
            Some(found) if !self.granted.include(&found.allocation) => Err(Refusal::denied("partition", id)),
            _ => Ok(self.pod),
        }
    }
}
