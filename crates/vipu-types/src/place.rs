//! Places of IPUs in their Pod: the policy that chooses them, and those that belong to hosts (Mode=host).

use std::fmt;
use std::ops::Range;

/// The physical place of an IPU: topology ids of the V-IPU API (`PartitionIpu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The IPU-Link domain.
    pub domain: u32,
    /// The place in the domain.
    pub index: u32,
}

impl Place {
    /// The place of an IPU, given its number in a Pod with domains of `domain` IPUs.
    pub fn numbered(ipu: usize, domain: u32) -> Self {
        let ipu = u32::try_from(ipu).unwrap_or(u32::MAX);
        Self { domain: ipu / domain, index: ipu % domain }
    }

    /// The number of the IPU in a Pod with domains of `domain` IPUs. `None` if no domain has this place.
    pub fn number(self, domain: u32) -> Option<usize> {
        (self.index < domain).then(|| self.domain as usize * domain as usize + self.index as usize)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IPU {} of domain {}", self.index, self.domain)
    }
}

/// The policy that chooses the IPUs of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// The controller chooses.
    #[default]
    Controller,
    /// slurm-vipu chooses.
    Explicit,
}

impl Placement {
    /// Its name in vipu.conf.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::Explicit => "explicit",
        }
    }
}

/// The IPUs that belong to hosts. The IPUs of a Pod are numbered through, IPU-Link domain by IPU-Link domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostMap {
    /// The hosts, each with as many IPUs as the others, at least one host.
    pub hosts: Vec<HostIpus>,
}

/// The IPUs of one host: those of its IPU-Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostIpus {
    /// The name of its node in Slurm.
    pub host: String,
    /// Its IPUs: an aligned block.
    pub ipus: Range<u32>,
    /// The agents of its IPU-Machines.
    pub agents: Vec<HostAgent>,
}

/// An agent, with its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAgent {
    /// The name that the controller knows.
    pub name: String,
    /// The place in the file: `hosts.map:3:25`.
    pub place: String,
}

impl HostMap {
    /// The number of IPUs of each host.
    pub fn ipus_of_each(&self) -> u32 {
        self.hosts.first().map_or(0, |first| first.ipus.end - first.ipus.start)
    }
}
