//! Checks a node record and the record of its line in slurm.conf.

use slurm_release::{CONFIG_MAGIC, Layout, NODE_MAGIC};

use crate::probe::Probe;
use crate::record::Record;

/// # Errors
/// One line that names the member that reads wrong.
pub(super) fn look(probe: &Probe, node: Record<'_>, layout: &Layout) -> Result<(), String> {
    let (fields, of_config) = (&layout.node_record, &layout.config_record);
    let wrong = |member: &str| Err(format!("{member} of a node record reads wrong"));
    if !probe.can_read(node.address(), fields.size.into()) {
        return Err(format!("a node record has less than {} bytes", fields.size));
    }
    if node.read(fields.magic) != NODE_MAGIC {
        return wrong("magic");
    }
    if !probe.is_text(node.text_pointer(fields.name)) {
        return wrong("name");
    }
    if !probe.is_null_or_text(node.text_pointer(fields.gres)) {
        return wrong("gres");
    }
    if !probe.is_null_or_readable(node.pointer(fields.config_ptr), of_config.size.into()) {
        return wrong("config_ptr");
    }
    // SAFETY: NULL, or memory that was just read in its whole size; node lock, as for the node.
    match unsafe { node.follow(fields.config_ptr) } {
        Some(config) if config.read(of_config.magic) != CONFIG_MAGIC => wrong("config_ptr"),
        Some(config) if !probe.is_null_or_text(config.text_pointer(of_config.gres)) => {
            wrong("config_ptr's gres")
        }
        _ => Ok(()),
    }
}
