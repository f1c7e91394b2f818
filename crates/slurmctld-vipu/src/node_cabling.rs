//! The IPUs that belong to nodes: those of a controller (`Nodes`), or those of each host (`HostMap`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use frontend::{Cabling, Models};
use slurm_conf::HostList;
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_conf::Settings;
use vipu_types::ControllerName;

use crate::node_gres::offers;

/// The IPUs that belong to a model's nodes. None if the settings give no node IPUs of its own.
pub(crate) fn cabling(settings: &Settings, nodes: &[NodeGres]) -> Option<Arc<Cabling>> {
    if settings.host_map.is_some() {
        return Some(Arc::new(Cabling::Hosts(numbered(&hosts(settings), nodes))));
    }
    let controllers = controllers(settings);
    (!controllers.is_empty()).then(|| Arc::new(Cabling::Controllers(numbered(&controllers, nodes))))
}

/// The values by the numbers of the nodes.
fn numbered<T: Clone>(by_name: &BTreeMap<String, T>, nodes: &[NodeGres]) -> BTreeMap<u32, T> {
    nodes.iter().filter_map(|node| Some((node.number, by_name.get(&node.node)?.clone()))).collect()
}

/// The controller of each node that the settings name. They were checked when they were read.
fn controllers(settings: &Settings) -> BTreeMap<String, ControllerName> {
    let lists = settings.nodes.iter().filter_map(|(name, list)| Some((name, HostList::parse(list).ok()?)));
    lists.flat_map(|(name, list)| list.names().map(|node| (node, name.clone())).collect::<Vec<_>>()).collect()
}

/// The IPUs of each host that the settings name.
fn hosts(settings: &Settings) -> BTreeMap<String, Range<u32>> {
    let hosts = settings.host_map.iter().flat_map(|file| &file.map.hosts);
    hosts.map(|host| (host.host.clone(), host.ipus.clone())).collect()
}

/// Says of each model which of its nodes have no IPUs, and which nodes with IPUs do not have the model.
pub(crate) fn warn_of_nodes(nodes: &[NodeGres], models: &Models) {
    for (model, settings) in models.0.iter().filter_map(|(name, it)| Some((name, it.settings.as_ref()?))) {
        let (key, names): (_, BTreeSet<String>) = match &settings.host_map {
            Some(_) => ("HostMap", hosts(settings).into_keys().collect()),
            None => ("Nodes", controllers(settings).into_keys().collect()),
        };
        if names.is_empty() {
            continue;
        }
        let types = models.gres_types(model);
        let has_model = |node: &&NodeGres| types.iter().any(|of| offers(node, Some(of)));
        let with_model: BTreeSet<_> = nodes.iter().filter(has_model).map(|node| node.node.clone()).collect();
        let left: Vec<_> = with_model.difference(&names).cloned().collect();
        if !left.is_empty() {
            error!(
                "model {model}: {key} gives no IPUs to {}: no job of the model runs there",
                left.join(",")
            );
        }
        let more: Vec<_> = names.difference(&with_model).cloned().collect();
        if !more.is_empty() {
            error!(
                "model {model}: {key} names {}, which slurm.conf gives no Gres=vipu:{model}",
                more.join(",")
            );
        }
    }
}
