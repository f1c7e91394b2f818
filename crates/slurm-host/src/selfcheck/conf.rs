//! Checks the texts of `slurm_conf`.

use std::ffi::c_void;

use slurm_release::{Field, Text};

use crate::probe::Probe;
use crate::running_release::loaded;
use crate::symbols;

/// # Errors
/// One line that names the text that reads wrong.
pub(super) fn look(probe: &Probe) -> Result<(), String> {
    let at = symbols::find(c"slurm_conf").ok_or("there is no slurm_conf")?;
    let layout = &loaded()?.release.layout.slurm_conf;
    // slurmstepd gets only SelectType, PluginDir and ClusterName, so the others may be NULL.
    let others = [
        ("the path of slurm.conf", layout.slurm_conf),
        ("PluginDir", layout.plugindir),
        ("StateSaveLocation", layout.state_save_location),
        ("SchedulerParameters", layout.sched_params),
        ("PlugStackConfig", layout.plugstack),
        ("SlurmctldParameters", layout.slurmctld_params),
        ("SlurmctldPidFile", layout.slurmctld_pidfile),
        ("ClusterName", layout.cluster_name),
        ("Licenses", layout.licenses),
    ];
    // One read for all pointers: on 22.05 to 24.11 each squeue makes this check.
    let offsets = others.iter().map(|(_, field)| field.offset()).chain([layout.select_type.offset()]);
    let mut copy = vec![0; offsets.max().unwrap_or_default() + size_of::<usize>()];
    if probe.copy(at.as_ptr(), &mut copy) != copy.len() {
        return Err("slurm_conf cannot be read".to_owned());
    }
    let text = |field: Field<Text>| {
        let mut pointer = [0; size_of::<usize>()];
        pointer.copy_from_slice(&copy[field.offset()..][..size_of::<usize>()]);
        usize::from_ne_bytes(pointer) as *const c_void
    };
    let select_type = probe.beginning(text(layout.select_type)).unwrap_or_default();
    if !select_type.starts_with(b"select/") {
        return Err(format!("SelectType reads as '{}'", String::from_utf8_lossy(&select_type)));
    }
    match others.iter().find(|(_, field)| !probe.is_null_or_text(text(*field))) {
        Some((name, _)) => Err(format!("{name} is no text")),
        None => Ok(()),
    }
}
