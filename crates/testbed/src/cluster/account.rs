//! The accounts that daemons and users run as.

use anyhow::{Context, Result};
use nix::unistd::User;

/// An account of this machine. None is ever created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
}

impl Account {
    /// Looks up an account.
    pub fn named(name: &str) -> Result<Self> {
        let user = User::from_name(name)?.with_context(|| format!("this machine has no user '{name}'"))?;
        Ok(Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw() })
    }

    /// The account the cluster's daemons and, unless told otherwise, its jobs run as.
    pub fn root() -> Result<Self> {
        Self::named("root")
    }
}
