//! The nodes in slurmctld's node table.

use std::ffi::c_void;
use std::ptr::NonNull;

use slurm_release as facts;

use crate::record::Record;
use crate::slurmctld::Host;

/// Returns the records of all nodes, each with its place in the table.
///
/// # Safety
/// Only inside a callback that runs under the node lock; `'call` ends with that callback.
pub(crate) unsafe fn table<'call>(host: &Host) -> impl Iterator<Item = (usize, Record<'call>)> + use<'call> {
    // SAFETY: node lock (caller): table and count belong together and do not change.
    let (table, count) = unsafe {
        (host.slurmctld.var.node_record_table_ptr.get(), host.slurmctld.var.node_record_count.get())
    };
    let count = if table.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
    (0..count).filter_map(move |place| {
        // SAFETY: the table has `count` slots; a slot may be NULL.
        let node: NonNull<c_void> = NonNull::new(unsafe { table.add(place).read() })?;
        // SAFETY: any other slot is a node_record_t under the node lock.
        Some((place, unsafe { Record::new(node) }))
    })
}

/// Returns the names of the nodes with these numbers.
///
/// # Safety
/// Only under the node lock.
pub(crate) unsafe fn names(host: &Host, numbers: &[u32]) -> Vec<String> {
    let is_wanted = |number: usize| u32::try_from(number).is_ok_and(|number| numbers.contains(&number));
    // SAFETY: node lock (caller).
    let nodes = unsafe { table(host) }.filter(|(number, _)| is_wanted(*number));
    nodes.filter_map(|(_, node)| node.text(host.layout.node_record.name)).collect()
}

/// The state of nodes that may be asked which jobs run there.
pub struct Askable {
    /// The nodes that are down, powered down or unknown.
    pub down: Vec<String>,
    /// The oldest `protocol_version` of the others.
    pub protocol: u16,
}

/// Looks at the state of these nodes.
///
/// # Safety
/// Only under the node lock.
pub(crate) unsafe fn askable(host: &Host, names: &[String]) -> Askable {
    let fields = &host.layout.node_record;
    let mut askable = Askable { down: names.to_vec(), protocol: u16::MAX };
    // SAFETY: node lock (caller).
    for (_, node) in unsafe { table(host) } {
        let state = node.read(fields.node_state);
        let is_down = state & facts::NODE_STATE_BASE == facts::NODE_STATE_DOWN
            || state & facts::NODE_STATE_POWERED_DOWN != 0;
        let name = node.text(fields.name).filter(|name| !is_down && names.contains(name));
        if let Some(name) = name {
            askable.down.retain(|down| *down != name);
            askable.protocol = askable.protocol.min(node.read(fields.protocol_version));
        }
    }
    askable
}
