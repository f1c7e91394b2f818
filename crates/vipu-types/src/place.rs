//! The place of an IPU in its Pod, and the policy that chooses places.

use std::fmt;

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
