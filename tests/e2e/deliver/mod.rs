//! The ways in which a job's tasks learn of their IPUs.

mod attacks;
mod containers;
mod environment;
mod file_api_node;
mod forged_script_variables;
mod gcds;
mod gres_plugin;
mod prolog_and_epilog;

use anyhow::Result;
use testbed::Account;

/// The user whose job has IPUs.
fn owner() -> Result<Account> {
    Account::named("nobody")
}

/// Another user of the node.
fn other() -> Result<Account> {
    Account::named("daemon")
}
