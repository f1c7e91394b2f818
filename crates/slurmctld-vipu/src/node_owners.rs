//! The controller of each node (`Nodes`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frontend::{Models, NodeOwners};
use slurm_conf::HostList;
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_conf::Settings;
use vipu_types::ControllerName;

use crate::node_gres::offers;

/// The controllers of a model's nodes, by the numbers of the nodes. None if the settings give no controller nodes of
/// its own.
pub(crate) fn owners(settings: &Settings, nodes: &[NodeGres]) -> Option<NodeOwners> {
    if settings.nodes.is_empty() {
        return None;
    }
    let by_name = by_name(settings);
    let owner = |node: &NodeGres| Some((node.number, by_name.get(&node.node)?.clone()));
    Some(Arc::new(nodes.iter().filter_map(owner).collect()))
}

/// The controller of each node that the settings name. They were checked when they were read.
fn by_name(settings: &Settings) -> BTreeMap<String, ControllerName> {
    let lists = settings.nodes.iter().filter_map(|(name, list)| Some((name, HostList::parse(list).ok()?)));
    lists.flat_map(|(name, list)| list.names().map(|node| (node, name.clone())).collect::<Vec<_>>()).collect()
}

/// Says of each model which of its nodes no controller has, and which nodes of a controller do not have the model.
pub(crate) fn warn_of_nodes(nodes: &[NodeGres], models: &Models) {
    for (model, settings) in models.0.iter().filter_map(|(name, it)| Some((name, it.settings.as_ref()?))) {
        let by_name = by_name(settings);
        if by_name.is_empty() {
            continue;
        }
        let types = models.gres_types(model);
        let has_model = |node: &&NodeGres| types.iter().any(|of| offers(node, Some(of)));
        let with_model = nodes.iter().filter(has_model).map(|node| node.node.as_str());
        let with_model: BTreeSet<&str> = with_model.collect();
        let left: Vec<_> = with_model.iter().filter(|node| !by_name.contains_key(**node)).copied().collect();
        if !left.is_empty() {
            error!(
                "model {model}: Nodes= gives no controller to {}: no job of the model runs there",
                left.join(",")
            );
        }
        let more: Vec<_> =
            by_name.keys().filter(|node| !with_model.contains(node.as_str())).cloned().collect();
        if !more.is_empty() {
            error!(
                "model {model}: Nodes= names {}, which slurm.conf gives no Gres=vipu:{model}",
                more.join(",")
            );
        }
    }
}
