//! The mock controller of a cluster.

use anyhow::Result;

use crate::{
    Account, Layout,
    daemon::Daemon,
    process::{Lead, Leashed},
};

/// A running `mock-vipu-server`, seen through its control channel.
#[derive(Debug)]
pub struct Mock {
    process: Leashed,
}

impl Mock {
    pub(crate) fn start(
        lead: &Lead,
        layout: &Layout,
        account: &Account,
        _port: u16,
        _args: &[String],
    ) -> Result<Self> {
        let daemon = Daemon::new("sleep", &["infinity"], account);
        Ok(Self { process: daemon.start(lead, layout)? })
    }

    /// The names of the partitions it has.
    pub fn partitions(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// owned twice
    pub fn owned_twice(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    pub(crate) fn into_process(self) -> Leashed {
        self.process
    }
}
