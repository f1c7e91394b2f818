//! How the tasks of a job come to know their IPUs.

use std::fmt;
use std::str::FromStr;

/// The way on which what the controller says of a partition reaches a job's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// A file that slurmctld writes into a directory all nodes share.
    #[default]
    File,
    /// No file: programs ask the controller themselves.
    Api,
    /// A file that each node fetches for itself.
    Node,
}

/// The text is no [`Delivery::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery (file, api, node)")]
pub struct BadDelivery;

impl Delivery {
    /// All ways.
    pub const ALL: [Delivery; 3] = [Delivery::File, Delivery::Api, Delivery::Node];

    /// Its name in vipu.conf and in a grant.
    #[must_use]
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
    type Err = BadDelivery;

    fn from_str(text: &str) -> Result<Self, BadDelivery> {
        let mut all = Self::ALL.into_iter();
        all.find(|delivery| delivery.name().eq_ignore_ascii_case(text)).ok_or(BadDelivery)
    }
}
