//! Asks nodes which jobs run there, on threads of their own: a node may take long to answer.

use std::collections::BTreeMap;
use std::sync::Weak;

use slurm_host::{boundary, running_jobs, threads};
use tracing::warn;
use vipu_types::Words;

use crate::plugin::Plugin;

/// The largest number of threads at a time. With more nodes, several share a thread and wait for the slowest of them.
const THREADS: usize = 64;

/// Asks nodes of which the oldest has this `protocol_version`. An answer always comes for each node, if only an empty one.
pub(crate) fn ask(nodes: &[String], protocol: u16, plugin: &Weak<Plugin>) {
    for nodes in nodes.chunks(nodes.len().div_ceil(THREADS).max(1)) {
        let (asked, for_answer) = (nodes.to_vec(), plugin.clone());
        let started = threads::spawn("vipu-nodes", move || {
            let found = boundary::guard(&|| "vipu-nodes".into(), Ok(BTreeMap::new()), || {
                running_jobs::on(&asked, protocol)
            });
            tell(&for_answer, &asked, found);
        });
        if let Err(why) = started {
            tell(plugin, nodes, Err(why));
        }
    }
}

fn tell(plugin: &Weak<Plugin>, asked: &[String], found: Result<BTreeMap<String, Vec<u32>>, Words>) {
    let mut told = found.unwrap_or_else(|why| {
        warn!("node {} cannot be asked which jobs run there: {why}", asked.join(","));
        BTreeMap::new()
    });
    if let Some(plugin) = plugin.upgrade() {
        plugin.frontend.nodes_told(asked.iter().map(|node| (node.clone(), told.remove(node))).collect());
    }
}
