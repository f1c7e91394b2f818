//! The parts of a Pod.
//!
//! IPUs are numbered through. Four in a row make an IPU-Machine with one agent, a domain size of
//! them an IPU-Link domain.

use std::ops::RangeInclusive;

use vipu_types::IpuCount;

/// IPUs of one IPU-Machine.
pub(crate) const MACHINE: u32 = 4;

/// The largest system the mock plays.
const MAX_IPUS: u32 = 65_536;

/// What a Pod consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The cluster's name.
    pub cluster: String,
    /// All IPUs; whole IPU-Machines.
    pub ipus: u32,
    /// IPUs of an IPU-Link domain; whole IPU-Machines.
    pub domain_size: IpuCount,
    /// Which users' partitions can be where; no agent in two of them.
    pub allocations: Vec<Allocation>,
}

/// Agents that share their users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Its name.
    pub name: String,
    /// Its agents, counted from 0.
    pub agents: RangeInclusive<u32>,
}

/// Why there cannot be such a Pod.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHardware {
    /// The number of IPUs is out of range.
    #[error("{0} IPUs: a system has 4 to {MAX_IPUS}, in whole IPU-Machines of 4")]
    Ipus(u32),
    /// The domain is smaller than a machine.
    #[error("an IPU-Link domain of {0} IPUs: it has at least one IPU-Machine of 4")]
    Domain(u32),
    /// Two allocations meet, or one has agents that are not there.
    #[error("allocation '{0}' has no agents, agents that are not there, or some of another allocation")]
    Allocation(String),
    /// Two allocations of one name.
    #[error("two allocations are called '{0}'")]
    Name(String),
}

impl Hardware {
    /// `ipus` IPUs in looped domains of up to 64, one allocation of all agents called `default`.
    #[must_use]
    pub fn new(ipus: u32) -> Self {
        Self {
            cluster: "cluster".to_owned(),
            ipus,
            domain_size: IpuCount::try_from(64).unwrap_or(IpuCount::ONE),
            allocations: vec![Allocation {
                name: "default".to_owned(),
                agents: 0..=(ipus / MACHINE).saturating_sub(1),
            }],
        }
    }

    /// The system sold as `pod4`, `pod16`, `pod64` or `pod128`.
    #[must_use]
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

    pub(crate) fn check(&self) -> Result<(), BadHardware> {
        if !(MACHINE..=MAX_IPUS).contains(&self.ipus) || !self.ipus.is_multiple_of(MACHINE) {
            return Err(BadHardware::Ipus(self.ipus));
        }
        if self.domain_size.get() < MACHINE {
            return Err(BadHardware::Domain(self.domain_size.get()));
        }
        for (i, one) in self.allocations.iter().enumerate() {
            let earlier = &self.allocations[..i];
            let meets = |other: &Allocation| {
                one.agents.start() <= other.agents.end() && other.agents.start() <= one.agents.end()
            };
            if one.agents.is_empty() || *one.agents.end() >= self.agents() || earlier.iter().any(meets) {
                return Err(BadHardware::Allocation(one.name.clone()));
            }
            if earlier.iter().any(|other| other.name == one.name) {
                return Err(BadHardware::Name(one.name.clone()));
            }
        }
        Ok(())
    }

    pub(crate) fn agents(&self) -> u32 {
        self.ipus / MACHINE
    }

    /// The agent called `name`.
    pub(crate) fn agent(&self, name: &str) -> Option<u32> {
        let number: u32 = name.strip_prefix("ag")?.parse().ok()?;
        let agent = number.checked_sub(1)?;
        (agent < self.agents() && name == agent_name(agent)).then_some(agent)
    }

    pub(crate) fn allocation(&self, name: &str) -> Option<&Allocation> {
        self.allocations.iter().find(|allocation| allocation.name == name)
    }

    /// The allocation that has an agent.
    pub(crate) fn allocation_of(&self, agent: u32) -> Option<&Allocation> {
        self.allocations.iter().find(|allocation| allocation.agents.contains(&agent))
    }
}

/// The name of an agent.
pub(crate) fn agent_name(agent: u32) -> String {
    format!("ag{}", agent + 1)
}

/// The agent of an IPU.
pub(crate) fn agent_of(ipu: u32) -> u32 {
    ipu / MACHINE
}

/// The number of an IPU in its machine: published listings count against the topology.
pub(crate) fn hardware_id(ipu: u32) -> u32 {
    MACHINE - 1 - ipu % MACHINE
}

/// The IPU of that number in the machine of an agent.
pub(crate) fn ipu_of(agent: u32, hardware_id: u32) -> Option<u32> {
    (hardware_id < MACHINE).then(|| agent * MACHINE + MACHINE - 1 - hardware_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_odd_sizes_are_possible() {
        for name in ["pod4", "pod16", "pod64", "pod128"] {
            assert_eq!(Hardware::preset(name).unwrap().check(), Ok(()));
        }
        assert_eq!(Hardware::preset("pod5"), None);
        assert_eq!(Hardware::new(100).check(), Ok(()));
        assert_eq!(Hardware::new(65_536).check(), Ok(()));
    }

    #[test]
    fn impossible_hardware_is_refused() {
        for ipus in [0, 2, 6, 65_540] {
            assert_eq!(Hardware::new(ipus).check(), Err(BadHardware::Ipus(ipus)));
        }
        let with = |allocations: &[(&str, RangeInclusive<u32>)]| {
            let allocation = |(name, agents): &(&str, RangeInclusive<u32>)| Allocation {
                name: (*name).to_owned(),
                agents: agents.clone(),
            };
            let allocations = allocations.iter().map(allocation).collect();
            Hardware { allocations, ..Hardware::new(64) }.check()
        };
        assert_eq!(with(&[("a", 0..=7), ("b", 8..=15)]), Ok(()));
        assert_eq!(with(&[("a", 0..=8), ("b", 8..=15)]), Err(BadHardware::Allocation("b".into())));
        assert_eq!(with(&[("a", 0..=16)]), Err(BadHardware::Allocation("a".into())));
        assert_eq!(with(&[("a", 0..=3), ("a", 4..=5)]), Err(BadHardware::Name("a".into())));
        let tiny = Hardware { domain_size: IpuCount::new(2).unwrap(), ..Hardware::new(64) };
        assert_eq!(tiny.check(), Err(BadHardware::Domain(2)));
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
