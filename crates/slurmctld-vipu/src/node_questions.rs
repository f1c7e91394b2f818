//! Asks nodes which jobs run there, on a thread of its own: a node may take long to answer.

use std::collections::BTreeMap;
use std::sync::Weak;

use slurm_host::{boundary, running_jobs, threads};
use tracing::warn;

use crate::plugin::Plugin;

/// Asks nodes of which the oldest has this `protocol_version`. An answer always comes, if only an empty one.
pub(crate) fn ask(nodes: Vec<String>, protocol: u16, plugin: Weak<Plugin>) {
    let for_failure = plugin.clone();
    let started = threads::spawn("vipu-nodes", move || {
        let found = boundary::guard(&|| "vipu-nodes".into(), Ok(BTreeMap::new()), || {
            running_jobs::on(&nodes, protocol)
        });
        tell(&plugin, found);
    });
    if let Err(why) = started {
        tell(&for_failure, Err(why));
    }
}

fn tell(plugin: &Weak<Plugin>, found: Result<BTreeMap<String, Vec<u32>>, String>) {
    let told = found.unwrap_or_else(|why| {
        warn!("nodes cannot be asked which jobs run there: {why}");
        BTreeMap::new()
    });
    if let Some(plugin) = plugin.upgrade() {
        plugin.frontend.nodes_told(told);
    }
}
