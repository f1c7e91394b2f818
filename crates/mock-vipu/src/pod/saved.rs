//! The state that outlives a restart of the server.

use std::collections::BTreeSet;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use super::hardware::agent_of;
use super::partition::Partition;
use super::{PartitionRecord, Pod};

const OTHER_HARDWARE: &str = "the saved state belongs to other hardware";

/// Partitions, their history and the state of the hardware, without the faults in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    partitions: Vec<Partition>,
    records: Vec<PartitionRecord>,
    down_agents: BTreeSet<u32>,
    faulty_ipus: BTreeSet<u32>,
}

impl Pod {
    /// Returns the state for [`Pod::restore`].
    pub fn save(&self) -> Saved {
        Saved {
            partitions: self.partitions.values().cloned().collect(),
            records: self.records.clone(),
            down_agents: self.ipus.down_agents.clone(),
            faulty_ipus: self.ipus.faulty_ipus.clone(),
        }
    }

    /// Restores the state of another Pod of the same hardware. Steps that have been due since then take place
    /// at their times, as without the restart.
    pub fn restore(&mut self, saved: Saved) -> anyhow::Result<()> {
        let ipus = self.ipus();
        let agents_there = saved.down_agents.iter().all(|&agent| agent < agent_of(ipus));
        let ipus_there = saved.faulty_ipus.iter().all(|&ipu| ipu < ipus);
        ensure!(agents_there && ipus_there, OTHER_HARDWARE);
        saved.down_agents.into_iter().for_each(|agent| self.ipus.agent_down(agent));
        saved.faulty_ipus.into_iter().for_each(|ipu| self.ipus.ipu_fault(ipu));
        self.records = saved.records;
        for mut partition in saved.partitions {
            let is_ours = self.ipus.free.contains(partition.block) && partition.record < self.records.len();
            ensure!(is_ours, OTHER_HARDWARE);
            self.ipus.free.remove(partition.block);
            let next = partition.next.clone();
            partition.plan(next, &mut self.agenda);
            self.partitions.insert(partition.spec.id.clone(), partition);
        }
        Ok(())
    }
}
