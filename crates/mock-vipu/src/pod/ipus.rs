//! The free IPUs and the working IPUs.

use std::collections::BTreeSet;

use super::Refusal;
use super::hardware::{Hardware, MACHINE, agent_name, agent_of, hardware_id};
use super::placement::{Block, IpuSet, Placement};
use super::spec::Spec;

#[derive(Debug)]
pub(crate) struct Ipus {
    pub(crate) hardware: Hardware,
    placement: Placement,
    /// The IPUs that no partition has.
    pub(crate) free: IpuSet,
    /// The IPUs that work and whose agents work.
    sound: IpuSet,
    allocations: Vec<(String, IpuSet)>,
    pub(crate) down_agents: BTreeSet<u32>,
    pub(crate) faulty_ipus: BTreeSet<u32>,
}

impl Ipus {
    pub(crate) fn new(hardware: Hardware, placement: Placement) -> Self {
        let ipus = hardware.ipus;
        let allocations = hardware.allocations.iter().map(|allocation| {
            let agents = &allocation.agents;
            let range = agents.start() * MACHINE..(agents.end() + 1) * MACHINE;
            (allocation.name.clone(), IpuSet::of(ipus, range))
        });
        Self {
            allocations: allocations.collect(),
            free: IpuSet::of(ipus, 0..ipus),
            sound: IpuSet::of(ipus, 0..ipus),
            down_agents: BTreeSet::new(),
            faulty_ipus: BTreeSet::new(),
            hardware,
            placement,
        }
    }

    /// Returns a block for the partition, and the block's allocation.
    pub(crate) fn place(&self, spec: &Spec) -> Result<(Block, String), Refusal> {
        let usable = self.free.and(&self.sound);
        let mut left = 0;
        for (name, members) in &self.allocations {
            if spec.allocation.as_ref().is_some_and(|wanted| wanted != name) {
                continue;
            }
            let candidates = usable.and(members);
            let found = match spec.chosen {
                Some(block) => candidates.contains(block).then_some(block),
                None => candidates.find(spec.size, self.placement),
            };
            if let Some(block) = found {
                return Ok((block, name.clone()));
            }
            left += candidates.len();
        }
        let size = spec.size;
        Err(Refusal::no_room(match spec.chosen {
            Some(_) => "the IPUs named are not all free, sound and of one allocation".to_owned(),
            None if left < size => format!("{size} IPUs wanted, {left} are free"),
            None => format!("{left} IPUs are free, but no {size} of them lie together"),
        }))
    }

    /// Returns the trouble with the IPUs of a block, if there is any.
    pub(crate) fn trouble(&self, block: Block) -> Option<String> {
        if self.sound.contains(block) {
            return None;
        }
        let faulty = || {
            let ipu = *self.faulty_ipus.range(block.ipus()).next()?;
            Some(format!("IPU {} of {} is in error", hardware_id(ipu), agent_name(agent_of(ipu))))
        };
        self.unreachable(block).or_else(faulty)
    }

    /// Returns the error of a block with an agent that does not answer.
    pub(crate) fn unreachable(&self, block: Block) -> Option<String> {
        let agents = agent_of(block.first)..=agent_of(block.first + block.size - 1);
        let agent = *self.down_agents.range(agents).next()?;
        Some(format!("agent {} is unreachable", agent_name(agent)))
    }

    pub(crate) fn agent_down(&mut self, agent: u32) {
        self.down_agents.insert(agent);
        self.sound.remove(Block { first: agent * MACHINE, size: MACHINE });
    }

    pub(crate) fn ipu_fault(&mut self, ipu: u32) {
        self.faulty_ipus.insert(ipu);
        self.sound.remove(Block { first: ipu, size: 1 });
    }
}
