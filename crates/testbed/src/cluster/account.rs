//! The accounts that daemons and users run as.

use anyhow::{Context, Result};
use nix::unistd::User;

/// An account of this machine. The testbed never creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    pub fn named(name: &str) -> Result<Self> {
        let user = User::from_name(name)?.with_context(|| format!("this machine has no user '{name}'"))?;
        Ok(Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
    }

    /// The account of all daemons but slurmctld, and by default of jobs.
    pub fn root() -> Result<Self> {
        Self::named("root")
    }
}
