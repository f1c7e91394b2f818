//! The settings of a model against the nodes of slurm.conf that offer it.

use std::collections::{BTreeMap, BTreeSet};

use slurm_conf::HostList;
use vipu_types::{ControllerName, GresType, IpuCount, ModelName};

use crate::Settings;

/// The GRES types of each node that has any of vipu.
pub type TypesOfNodes = BTreeMap<String, BTreeSet<GresType>>;

impl Settings {
    /// The controller of each node that `Nodes` names. The lists were checked when they were read.
    pub fn owners_of_nodes(&self) -> BTreeMap<String, ControllerName> {
        let lists = self.nodes.iter().filter_map(|(name, list)| Some((name, HostList::parse(list).ok()?)));
        lists
            .flat_map(|(name, list)| list.names().map(|node| (node, name.clone())).collect::<Vec<_>>())
            .collect()
    }
}

/// What does not fit together: the lists of `Nodes` or the hosts of `HostMap` and the nodes that offer the model, or the sizes of `Pool` and those
/// that nodes offer. Each is a sentence without its subject's file.
pub fn against_nodes(model: &ModelName, settings: &Settings, nodes: &TypesOfNodes) -> Vec<String> {
    let of_model = |types: &&BTreeSet<GresType>| types.iter().any(|of| of.model() == *model);
    let with_model = nodes.iter().filter(|(_, types)| of_model(types)).map(|(node, _)| node.as_str());
    let mut found = lists(model, settings, &with_model.collect());
    let types = nodes.values().flatten().filter(|of| of.model() == *model);
    let sizes = types.filter_map(|of| match of {
        GresType::Size(ipus) => IpuCount::new(*ipus).ok(),
        GresType::Model(_) => None,
    });
    found.extend(pool_sizes(settings, &sizes.collect()));
    found
}

fn lists(model: &ModelName, settings: &Settings, with_model: &BTreeSet<&str>) -> Vec<String> {
    let owners = settings.owners_of_nodes();
    let hosts = settings.host_map.as_ref().map(|file| &file.map.hosts);
    let (key, what, named): (_, _, BTreeSet<&str>) = match hosts {
        Some(hosts) => ("HostMap", "IPUs", hosts.iter().map(|host| host.host.as_str()).collect()),
        None => ("Nodes=", "controller", owners.keys().map(String::as_str).collect()),
    };
    if named.is_empty() {
        return Vec::new();
    }
    let left: Vec<_> = with_model.difference(&named).copied().collect();
    let more: Vec<_> = named.difference(with_model).copied().collect();
    let lines = [
        (&left, format!("{key} gives no {what} to {}: no job of {model} runs there", left.join(","))),
        (&more, format!("{key} names {}, to which slurm.conf gives no Gres= of {model}", more.join(","))),
    ];
    lines.into_iter().filter(|(nodes, _)| !nodes.is_empty()).map(|(_, line)| line).collect()
}

/// The sizes of the administrator's partitions are unknown here.
fn pool_sizes(settings: &Settings, on_nodes: &BTreeSet<IpuCount>) -> Vec<String> {
    let Some(pool) = settings.pool.as_ref().filter(|_| !on_nodes.is_empty()) else { return Vec::new() };
    let made: BTreeSet<_> = pool.made_sizes().collect();
    let are_all_known = pool.is_all_made() && !settings.use_reconfig_partition;
    let only_on_nodes = on_nodes.difference(&made).filter(|_| are_all_known);
    let only_on_nodes = only_on_nodes.map(|size| {
        format!("Pool= has no partition of {size} IPUs, which nodes offer: requests for Gres=vipu:{size} are refused")
    });
    let only_in_pool = made.difference(on_nodes).map(|size| {
        format!(
            "Pool= has partitions of {size} IPUs, which no node offers: no job gets them; add Gres=vipu:{size}:no_consume:<partitions>"
        )
    });
    only_on_nodes.chain(only_in_pool).collect()
}
