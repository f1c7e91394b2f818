//! The controller of each node (`Nodes`).

use std::sync::Arc;

use frontend::{Models, NodeOwners};
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_conf::{Settings, TypesOfNodes, against_nodes};
use vipu_types::gres_types;

/// The controllers of a model's nodes, by the numbers of the nodes. None if the settings give no controller nodes of
/// its own.
pub(crate) fn owners(settings: &Settings, nodes: &[NodeGres]) -> Option<NodeOwners> {
    if settings.nodes.is_empty() {
        return None;
    }
    let by_name = settings.owners_of_nodes();
    let owner = |node: &NodeGres| Some((node.number, by_name.get(&node.node)?.clone()));
    Some(Arc::new(nodes.iter().filter_map(owner).collect()))
}

/// Says of each model which of its nodes no controller has, which nodes of a controller do not have the model, and which
/// sizes only nodes or only the pool have.
pub(crate) fn warn_of_nodes(nodes: &[NodeGres], models: &Models) {
    let nodes: TypesOfNodes = nodes.iter().map(|it| (it.node.clone(), gres_types(&it.gres))).collect();
    for (model, settings) in models.0.iter().filter_map(|(name, it)| Some((name, it.settings.as_ref()?))) {
        for line in against_nodes(model, settings, &nodes) {
            error!("model {model}: {line}");
        }
    }
}
