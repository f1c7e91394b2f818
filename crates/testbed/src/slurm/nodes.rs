//! Killing, starting and updating the cluster's nodes.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::{
    Cluster, Hosts,
    cluster::{daemon, locked},
    conf_files::node_name,
    process::Process,
    wait_until,
};

/// The longest time until Slurm shows a node as wanted.
const LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// Kills the slurmd of the node of this number, counted from 1, and all processes that it has started, as
    /// a power cut does.
    pub fn kill_slurmd(&self, number: u16) -> Result<()> {
        let slot = usize::from(number - 1);
        let mut slurmd = locked(&self.hosts.slurmd)[slot].take().context("that slurmd is not running")?;
        slurmd.signal(Signal::KILL)?;
        wait_until("the end of slurmd", LIMIT, || Ok(slurmd.ended()?.is_some()))
    }

    /// Restarts the slurmd of the node of this number, counted from 1. Its job steps go on.
    pub fn restart_slurmd(&self, number: u16) -> Result<()> {
        let slurmd = self.slurmd(number)?;
        slurmd.signal(Signal::TERM)?;
        wait_until("the end of slurmd", LIMIT, || Ok(!slurmd.exists()))
    }

    /// The slurmd of the node of this number, without its job steps.
    pub fn slurmd(&self, number: u16) -> Result<Process> {
        let mut all = locked(&self.hosts.slurmd);
        let leashed = all[usize::from(number - 1)].as_mut().context("that slurmd is not running")?;
        let shell = leashed.process()?.context("slurmd has failed")?;
        shell.child().context("slurmd is not running")
    }

    pub fn slurmd_port(&self, number: u16) -> u16 {
        self.hosts.at.first_slurmd + number - 1
    }

    /// Starts the slurmd of the node of this number again, on a node that stayed up.
    pub fn start_node(&self, number: u16) -> Result<()> {
        self.start_slurmd(number, &[])
    }

    /// Starts the slurmd of the node of this number again, on a node that has booted.
    pub fn boot_slurmd(&self, number: u16) -> Result<()> {
        self.start_slurmd(number, &["-b"])
    }

    fn start_slurmd(&self, number: u16, options: &[&str]) -> Result<()> {
        let slurmd = daemon::slurmd(&self.hosts.root, &self.hosts.settings, number - 1, options)?;
        let slurmd = slurmd.start(&self.hosts.lead, &self.hosts.layout)?;
        locked(&self.hosts.slurmd)[usize::from(number - 1)] = Some(slurmd);
        Ok(())
    }
}

impl<H: Hosts> Cluster<H> {
    /// Waits until `wanted` accepts the state of the node of this number, in scontrol's words, for example
    /// `IDLE+DRAIN`.
    pub fn await_node(&self, number: u16, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let name = node_name(number - 1);
        let mut last = String::new();
        let seen = wait_until(&format!("node {name}"), LIMIT, || {
            let shown = self.scontrol(&["show", "node", &name])?;
            let state = shown.split_whitespace().find_map(|word| word.strip_prefix("State="));
            last = state.unwrap_or_default().to_owned();
            Ok(wanted(&last))
        });
        seen.with_context(|| format!("it is {last}"))
    }

    pub fn update_node(&self, number: u16, what: &[&str]) -> Result<()> {
        let name = format!("NodeName={}", node_name(number - 1));
        self.scontrol(&[&["update", &name], what].concat()).map(drop)
    }
}
