//! Checks the texts of `slurm_conf`.

use std::ffi::c_void;

use crate::probe::Probe;
use crate::record::Record;
use crate::running_release::loaded;
use crate::symbols;

/// # Errors
/// One line that names the text that reads wrong.
pub(super) fn look(probe: &Probe) -> Result<(), String> {
    let at = symbols::find(c"slurm_conf").ok_or("there is no slurm_conf")?;
    let layout = &loaded()?.release.layout.slurm_conf;
    // slurmstepd gets only SelectType, PluginDir and ClusterName, so the others may be NULL.
    let texts = [
        ("SelectType", layout.select_type),
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
    let last = texts.iter().map(|(_, field)| field.offset()).max().unwrap_or_default();
    if !probe.can_read(at.as_ptr(), last + size_of::<*const c_void>()) {
        return Err("slurm_conf cannot be read".to_owned());
    }
    // SAFETY: all members that are read here can be read. No lock is needed, because the pointers are followed
    // through the probe.
    let conf = unsafe { Record::new(at) };
    let select_type = probe.beginning(conf.text_pointer(layout.select_type)).unwrap_or_default();
    if !select_type.starts_with(b"select/") {
        return Err(format!("SelectType reads as '{}'", String::from_utf8_lossy(&select_type)));
    }
    match texts.iter().find(|(_, field)| !probe.is_null_or_text(conf.text_pointer(*field))) {
        Some((name, _)) => Err(format!("{name} is no text")),
        None => Ok(()),
    }
}
