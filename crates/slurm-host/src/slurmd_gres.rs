//! The GRES of a node, as slurmd has combined them from slurm.conf and gres.conf.

use std::ffi::c_void;
use std::ptr::NonNull;

use slurm_release::{GresSlurmdConf, Layout};
use vipu_types::{Words, words};

use crate::probe::{self, Probe};
use crate::record::{self, list_items};
use crate::running_release::loaded;
use crate::symbols;

/// One `Gres=` element of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The type of the GRES, for example `pod64`.
    pub kind: Option<String>,
    /// The number that the node offers.
    pub count: u64,
    /// `File=` of gres.conf.
    pub file: Option<String>,
}

/// Returns the records of the GRES `name` in the list that a gres plugin is given.
///
/// # Errors
/// If the list cannot be walked or a record does not look as the release says.
///
/// # Safety
/// `list` is that of a running `gres_p_node_config_load`, under Slurm's lock of GRES, and no other thread
/// changes it meanwhile.
pub unsafe fn of_node(list: *mut c_void, name: &str) -> Result<Vec<Record>, Words> {
    let layout = loaded()?.release.layout;
    // SAFETY: its signature in every release (SAFETY.md, "Signatures").
    let for_each = unsafe { symbols::wanted(c"slurm_list_for_each") }?;
    // SAFETY: the list of the running callback (caller).
    let records = unsafe { list_items(for_each, list) }.unwrap_or_default();
    let own = |probe: &Probe| {
        let own = records.into_iter().filter_map(|at| of_name(probe, at, name, layout).transpose());
        own.collect()
    };
    probe::look(own).unwrap_or_else(|| Err("the kernel does not let slurmd check its records".into()))
}

/// Returns the record if it belongs to this GRES. Each part is checked before it is read.
fn of_name(probe: &Probe, at: NonNull<c_void>, name: &str, layout: &Layout) -> Result<Option<Record>, Words> {
    let fields = &layout.gres_slurmd_conf;
    if !probe.can_read(at.as_ptr(), fields.size.into()) {
        return Err(words!("a gres_slurmd_conf_t has less than {} bytes", fields.size));
    }
    // SAFETY: memory that was just read in its whole size, unchanged for the callback (caller of `of_node`).
    let record = unsafe { record::Record::new(at) };
    if record.read(fields.plugin_id) != id_of(name) {
        return Ok(None);
    }
    look(probe, record, name, fields)?;
    Ok(Some(Record {
        kind: record.text(fields.type_name),
        count: record.read(fields.count),
        file: record.text(fields.file),
    }))
}

fn look(probe: &Probe, record: record::Record<'_>, name: &str, fields: &GresSlurmdConf) -> Result<(), Words> {
    let wrong = |member: &str| Err(words!("{member} of a gres_slurmd_conf_t reads wrong"));
    if probe.beginning(record.text_pointer(fields.name)).as_deref() != Some(name.as_bytes()) {
        return wrong("name");
    }
    for (member, field) in [("type_name", fields.type_name), ("file", fields.file)] {
        let text = record.text_pointer(field);
        if !text.is_null() && !probe.is_text(text) {
            return wrong(member);
        }
    }
    Ok(())
}

/// Slurm's number for the GRES `vipu`.
pub(crate) const VIPU: u32 = 0x7570_6976;

/// Slurm's number for a GRES: the sum of its name's bytes, each shifted by 0, 8, 16 or 24 bits in turn.
fn id_of(name: &str) -> u32 {
    let bytes = name.bytes().zip([0, 8, 16, 24].into_iter().cycle());
    bytes.fold(0, |id, (byte, shift)| id.wrapping_add(u32::from(byte) << shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gres_has_the_number_that_slurm_computes() {
        assert_eq!(id_of("vipu"), VIPU);
        assert_eq!(id_of("gpu"), 7_696_487);
    }
}
