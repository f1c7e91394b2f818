//! The IPUs that belong to nodes: those of a controller (`Nodes`), or those of each host (`HostMap`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use frontend::{Cabling, Models};
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_conf::{Settings, TypesOfNodes, against_nodes};
use vipu_types::gres_types;

/// The IPUs that belong to a model's nodes. None if the settings give no node IPUs of its own.
pub(crate) fn cabling(settings: &Settings, nodes: &[NodeGres]) -> Option<Arc<Cabling>> {
    if settings.host_map.is_some() {
        return Some(Arc::new(Cabling::Hosts(numbered(&hosts(settings), nodes))));
    }
    let controllers = settings.owners_of_nodes();
    (!controllers.is_empty()).then(|| Arc::new(Cabling::Controllers(numbered(&controllers, nodes))))
}

/// The values by the numbers of the nodes.
fn numbered<T: Clone>(by_name: &BTreeMap<String, T>, nodes: &[NodeGres]) -> BTreeMap<u32, T> {
    nodes.iter().filter_map(|node| Some((node.number, by_name.get(&node.node)?.clone()))).collect()
}

/// The IPUs of each host that the settings name.
fn hosts(settings: &Settings) -> BTreeMap<String, Range<u32>> {
    let hosts = settings.host_map.iter().flat_map(|file| &file.map.hosts);
    hosts.map(|host| (host.host.clone(), host.ipus.clone())).collect()
}

/// Says of each model which of its nodes have no IPUs, which nodes with IPUs do not have the model, and which sizes only
/// nodes or only the pool have.
pub(crate) fn warn_of_nodes(nodes: &[NodeGres], models: &Models) {
    let nodes: TypesOfNodes = nodes.iter().map(|it| (it.node.clone(), gres_types(&it.gres))).collect();
    for (model, settings) in models.0.iter().filter_map(|(name, it)| Some((name, it.settings.as_ref()?))) {
        for line in against_nodes(model, settings, &nodes) {
            error!("model {model}: {line}");
        }
    }
}
