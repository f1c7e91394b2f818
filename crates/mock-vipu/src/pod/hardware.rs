//! The parts of a Pod.
//!
//! IPUs are numbered through. Four in a row make an IPU-Machine with one agent; 64 IPUs make an IPU-Link
//! domain.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};

/// The number of IPUs of one IPU-Machine.
pub(crate) const MACHINE: u32 = 4;

/// The number of IPUs of an IPU-Link domain.
pub(crate) const DOMAIN: u32 = 64;

/// The number of IPUs of the largest system that the mock plays.
const MAX_IPUS: u32 = 65_536;

/// The parts of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    pub cluster: String,
    /// The number of all IPUs, in whole IPU-Machines.
    pub ipus: u32,
    /// The allocations. Each partition lies in one of them, and no agent is in two of them.
    pub allocations: Vec<Allocation>,
}

/// Agents that share their partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    pub name: String,
    /// The allocation's agents, counted from 0.
    pub agents: RangeInclusive<u32>,
}

impl Hardware {
    /// Returns `ipus` IPUs in domains of up to 64, with one allocation `default` of all agents.
    pub fn new(ipus: u32) -> Self {
        Self {
            cluster: "cluster".to_owned(),
            ipus,
            allocations: vec![Allocation {
                name: "default".to_owned(),
                agents: 0..=(ipus / MACHINE).saturating_sub(1),
            }],
        }
    }

    /// Returns the system sold as `pod4`, `pod16`, `pod64` or `pod128`.
    pub fn preset(name: &str) -> Option<Self> {
        let ipus = match name {
            "pod4" => 4,
            "pod16" => 16,
            "pod64" => 64,
            "pod128" => 128,
            _ => return None,
        };
        Some(Self { cluster: name.to_owned(), ..Self::new(ipus) })
    }

    pub(crate) fn check(&self) -> Result<()> {
        let is_whole = (MACHINE..=MAX_IPUS).contains(&self.ipus) && self.ipus.is_multiple_of(MACHINE);
        ensure!(is_whole, "{} IPUs: a system has 4 to {MAX_IPUS}, in whole IPU-Machines of 4", self.ipus);
        for (i, Allocation { name, agents }) in self.allocations.iter().enumerate() {
            let meets = |other: &Allocation| {
                other.name == *name
                    || agents.start() <= other.agents.end() && other.agents.start() <= agents.end()
            };
            let is_there = !agents.is_empty() && *agents.end() < self.agents();
            ensure!(
                is_there && !self.allocations[..i].iter().any(meets),
                "allocation '{name}' has no agents, agents that are not there, or the name or agents of another"
            );
        }
        Ok(())
    }

    pub(crate) fn agents(&self) -> u32 {
        self.ipus / MACHINE
    }

    /// Returns the number of the agent called `name`.
    pub(crate) fn agent(&self, name: &str) -> Option<u32> {
        let number: u32 = name.strip_prefix("ag")?.parse().ok()?;
        let agent = number.checked_sub(1)?;
        (agent < self.agents() && name == agent_name(agent)).then_some(agent)
    }

    pub(crate) fn allocation(&self, name: &str) -> Option<&Allocation> {
        self.allocations.iter().find(|allocation| allocation.name == name)
    }
}

pub(crate) fn agent_name(agent: u32) -> String {
    format!("ag{}", agent + 1)
}

pub(crate) fn agent_of(ipu: u32) -> u32 {
    ipu / MACHINE
}

/// Returns the hardware id of an IPU in its machine. Published listings count it against the topology id.
pub(crate) fn hardware_id(ipu: u32) -> u32 {
    MACHINE - 1 - ipu % MACHINE
}

/// Returns the IPU with this hardware id in the machine of an agent.
pub(crate) fn ipu_of(agent: u32, hardware_id: u32) -> Option<u32> {
    (hardware_id < MACHINE).then(|| agent * MACHINE + MACHINE - 1 - hardware_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_hardware_is_refused() {
        for ipus in [4, 100, 65_536] {
            Hardware::new(ipus).check().unwrap();
        }
        for ipus in [0, 2, 6, 65_540] {
            Hardware::new(ipus).check().unwrap_err();
        }
        let with = |allocations: &[(&str, RangeInclusive<u32>)]| {
            let allocations = allocations.iter().cloned();
            let allocations = allocations.map(|(name, agents)| Allocation { name: name.to_owned(), agents });
            Hardware { allocations: allocations.collect(), ..Hardware::new(64) }.check()
        };
        with(&[("a", 0..=7), ("b", 8..=15)]).unwrap();
        with(&[("a", 0..=8), ("b", 8..=15)]).unwrap_err();
        with(&[("a", 0..=16)]).unwrap_err();
        with(&[("a", 0..=3), ("a", 4..=5)]).unwrap_err();
    }

    #[test]
    fn agents_and_ipus_are_found_by_name() {
        let pod = Hardware::new(64);
        assert_eq!(pod.agent("ag1"), Some(0));
        assert_eq!(pod.agent("ag16"), Some(15));
        for wrong in ["ag0", "ag17", "ag01", "x1", "ag"] {
            assert_eq!(pod.agent(wrong), None, "{wrong}");
        }
        for ipu in 0..64 {
            assert_eq!(ipu_of(agent_of(ipu), hardware_id(ipu)), Some(ipu));
        }
        assert_eq!(ipu_of(0, 4), None);
    }
}
