//! The ways in which tasks get the description of their IPUs.

use std::fmt;
use std::str::FromStr;

use crate::Words;

/// The way in which the controller's description of a partition reaches the tasks of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// slurmctld writes a file into a directory that all nodes share.
    #[default]
    File,
    /// There is no file. Programs ask the controller themselves.
    Api,
    /// Each node fetches the file for itself.
    Node,
}

impl Delivery {
    /// The directory of the files that a node fetches, if plugstack.conf names no other. It is in memory, so that no file
    /// outlives a boot.
    pub const RUN_DIR: &str = "/run/slurm-vipu";

    /// All ways.
    pub const ALL: [Delivery; 3] = [Delivery::File, Delivery::Api, Delivery::Node];

    /// The name in vipu.conf and in a grant.
    pub const fn name(self) -> &'static str {
        match self {
            Delivery::File => "file",
            Delivery::Api => "api",
            Delivery::Node => "node",
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Delivery {
    type Err = Words;

    fn from_str(text: &str) -> Result<Self, Words> {
        let mut all = Self::ALL.into_iter();
        all.find(|delivery| delivery.name().eq_ignore_ascii_case(text))
            .ok_or("not a delivery (file, api, node)".into())
    }
}
