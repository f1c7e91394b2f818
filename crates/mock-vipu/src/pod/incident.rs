//! Incidents: events that a test brings about and that happen at once.

use serde::{Deserialize, Serialize};
use vipu_client::wire::PartitionRequirements;

use super::hardware::{DOMAIN, ipu_of};
use super::partition::{State, Step};
use super::placement::Block;
use super::spec::Spec;
use super::{Nanos, Pod, Refusal};

/// An event that happens at once. An example in JSON: `{"agent-down": {"agent": "ag3"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Incident {
    /// An agent stops answering for good. Its IPUs cannot be used, and active partitions on them break.
    AgentDown { agent: String },
    /// The IPU of an agent that has this hardware id (0 to 3) breaks for good.
    IpuFault { agent: String, ipu: u32 },
    /// An active partition breaks. Its status has the text.
    PartitionError { partition: String, text: String },
    /// A partition of another client appears, ACTIVE. Its name can be any text. Its first IPU is `first`.
    /// With `None` it gets any place with room.
    Foreign { id: String, size: u32, first: Option<u32> },
    /// An administrator resets a partition. It moves to other IPUs if its own do not work.
    Relocate { partition: String },
    /// A partition is gone at once: another client removed it, or a stuck removal is complete.
    Vanish { partition: String },
}

impl Pod {
    /// Brings an incident about.
    pub fn cause(&mut self, incident: &Incident, now: Nanos) -> Result<(), Refusal> {
        self.advance(now);
        match incident {
            Incident::AgentDown { agent } => {
                self.ipus.agent_down(self.agent(agent)?);
                self.break_unsound(now);
            }
            Incident::IpuFault { agent, ipu } => {
                let found = ipu_of(self.agent(agent)?, *ipu);
                self.ipus.ipu_fault(found.ok_or_else(|| Refusal::not_found("IPU", &ipu.to_string()))?);
                self.break_unsound(now);
            }
            Incident::PartitionError { partition, text } => {
                let state = self.partitions.get(partition).map(|partition| partition.state);
                match state.ok_or_else(|| Refusal::not_found("partition", partition))? {
                    State::Active => self.break_down(partition, text.clone(), now),
                    _ => return Err(Refusal::not_ready(format!("partition '{partition}' is not active"))),
                }
            }
            Incident::Foreign { id, size, first } => self.foreign(id, *size, *first, now)?,
            Incident::Relocate { partition } => self.reset(partition, true, now)?,
            Incident::Vanish { partition } => {
                let gone = self.partitions.get_mut(partition);
                let gone = gone.ok_or_else(|| Refusal::not_found("partition", partition))?;
                gone.plan(None, &mut self.agenda);
                self.vanish(partition, now);
            }
        }
        self.advance(now);
        Ok(())
    }

    pub(crate) fn agent(&self, name: &str) -> Result<u32, Refusal> {
        self.ipus.hardware.agent(name).ok_or_else(|| Refusal::not_found("agent", name))
    }

    fn foreign(&mut self, id: &str, size: u32, first: Option<u32>, now: Nanos) -> Result<(), Refusal> {
        if self.partitions.contains_key(id) {
            return Err(Refusal::invalid(format!("partition '{id}' exists")));
        }
        let segments = size.div_ceil(DOMAIN);
        let wanted = PartitionRequirements {
            id: id.to_owned(),
            size,
            num_gcds: segments,
            num_ipulink_segments: segments,
            ..PartitionRequirements::default()
        };
        let mut spec = Spec::of(wanted, &self.ipus.hardware)?;
        if first.is_some_and(|first| !first.is_multiple_of(size)) {
            return Err(Refusal::invalid(format!("a partition of {size} starts at a multiple of {size}")));
        }
        spec.chosen = first.map(|first| Block { first, size });
        let place = self.ipus.place(&spec)?;
        self.settle(spec, place, Some((now, Step::ComeUp)), now, true);
        Ok(())
    }

    /// Breaks the active partitions on unsound IPUs. Other partitions notice when they come up.
    fn break_unsound(&mut self, now: Nanos) {
        let active = self.partitions.values().filter(|partition| partition.state == State::Active);
        let broken = active
            .filter_map(|partition| Some((partition.spec.id.clone(), self.ipus.trouble(partition.block)?)));
        for (id, trouble) in broken.collect::<Vec<_>>() {
            self.break_down(&id, trouble, now);
        }
    }
}
