//! The GRES in slurmctld's node table.

use slurm_release::Layout;

use crate::node_table::table;
use crate::record::Record;
use crate::selfcheck;
use crate::slurmctld::host;

/// A node's name and its `Gres=` text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGres {
    /// Its number in the node table, and so in the bitmaps of nodes.
    pub number: u32,
    /// `NodeName`
    pub node: String,
    /// The GRES of the node, for example `vipu:pod64:64`. Slurm may have left out `no_consume`.
    pub gres: String,
    /// The GRES in the node's line of slurm.conf.
    pub line: String,
}

/// Returns the GRES of every node that has any. Returns no node if one does not look as the release says
/// ([`crate::selfcheck`]), and None if the nodes cannot be looked at now.
///
/// # Safety
/// Only inside a select callback that slurmctld runs under its node lock (`reconfigure`).
pub unsafe fn gres_of_all() -> Option<Vec<NodeGres>> {
    let Ok(host) = host() else { return Some(Vec::new()) };
    // SAFETY: node lock (caller).
    let (numbers, nodes): (Vec<_>, Vec<_>) = unsafe { table(host) }.unzip();
    if !selfcheck::nodes_are_as_expected(&nodes, host.layout)? {
        return Some(Vec::new());
    }
    let all = numbers.into_iter().zip(nodes);
    Some(all.filter_map(|(number, node)| gres_of(number, node, host.layout)).collect())
}

pub(crate) fn gres_of(number: usize, node: Record<'_>, layout: &Layout) -> Option<NodeGres> {
    let fields = &layout.node_record;
    // SAFETY: config_ptr is NULL or a config_record_t under the node lock.
    let line =
        unsafe { node.follow(fields.config_ptr) }.and_then(|config| config.text(layout.config_record.gres));
    let gres = node.text(fields.gres).or_else(|| line.clone())?;
    let (number, name) = (u32::try_from(number).ok()?, node.text(fields.name)?);
    Some(NodeGres { number, node: name, line: line.unwrap_or_else(|| gres.clone()), gres })
}
