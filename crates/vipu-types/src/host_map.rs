//! The IPUs of each host (Mode=host).

use std::ops::Range;

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
