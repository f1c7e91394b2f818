//! The state that outlives a restart of the server.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::hardware::agent_of;
use super::partition::Partition;
use super::{PartitionRecord, Pod};

/// Partitions, their history and the state of the hardware; not the faults in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    partitions: Vec<Partition>,
    records: Vec<PartitionRecord>,
    down_agents: BTreeSet<u32>,
    faulty_ipus: BTreeSet<u32>,
}

/// What was saved is not the state of such a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved state belongs to other hardware")]
pub struct NotOurs;

impl Pod {
    /// What has to be kept for [`Pod::restore`].
    #[must_use]
    pub fn save(&self) -> Saved {
        Saved {
            partitions: self.partitions.values().cloned().collect(),
            records: self.records.clone(),
            down_agents: self.ipus.down_agents.clone(),
            faulty_ipus: self.ipus.faulty_ipus.clone(),
        }
    }

    /// Goes on where another Pod of the same hardware was saved. What was due since takes place as
    /// if nothing had happened.
    ///
    /// # Errors
    /// When the saved IPUs are not there. The Pod is useless then.
    pub fn restore(&mut self, saved: Saved) -> Result<(), NotOurs> {
        let ipus = self.ipus();
        let agents_there = saved.down_agents.iter().all(|&agent| agent < agent_of(ipus));
        let ipus_there = saved.faulty_ipus.iter().all(|&ipu| ipu < ipus);
        if !agents_there || !ipus_there {
            return Err(NotOurs);
        }
        saved.down_agents.into_iter().for_each(|agent| self.ipus.agent_down(agent));
        saved.faulty_ipus.into_iter().for_each(|ipu| self.ipus.ipu_fault(ipu));
        self.records = saved.records;
        for mut partition in saved.partitions {
            if !self.ipus.is_free(partition.block) || self.records.get(partition.record).is_none() {
                return Err(NotOurs);
            }
            self.ipus.take(partition.block);
            let next = partition.next.clone();
            partition.plan(next, &mut self.agenda);
            self.partitions.insert(partition.spec.id.clone(), partition);
        }
        Ok(())
    }
}
