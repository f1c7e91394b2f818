//! Checks the texts of `slurm_conf`.

use slurm_release::{Field, Text};

use crate::probe::Probe;
use crate::record::Record;
use crate::running_release::loaded;
use crate::symbols;

/// # Errors
/// One line that names the text that reads wrong.
pub(super) fn look(probe: &Probe) -> Result<(), String> {
    let at = symbols::find(c"slurm_conf").ok_or("there is no slurm_conf")?;
    let layout = &loaded()?.release.layout.slurm_conf;
    // SAFETY: the address is only computed with here; the memory there is read through the probe.
    let conf = unsafe { Record::new(at) };
    let text = |field: Field<Text>| probe.pointer(conf.member(field)).unwrap_or(std::ptr::null());
    let select_type = probe.beginning(text(layout.select_type));
    if !select_type.starts_with(b"select/") {
        return Err(format!("SelectType reads as '{}'", String::from_utf8_lossy(&select_type)));
    }
    // slurmstepd gets only SelectType, PluginDir and ClusterName, so the others may be NULL.
    for (name, field) in [
        ("the path of slurm.conf", layout.slurm_conf),
        ("PluginDir", layout.plugindir),
        ("StateSaveLocation", layout.state_save_location),
        ("SchedulerParameters", layout.sched_params),
        ("PlugStackConfig", layout.plugstack),
        ("SlurmctldParameters", layout.slurmctld_params),
        ("SlurmctldPidFile", layout.slurmctld_pidfile),
        ("ClusterName", layout.cluster_name),
        ("Licenses", layout.licenses),
    ] {
        if !probe.is_null_or_text(text(field)) {
            return Err(format!("{name} is no text"));
        }
    }
    Ok(())
}
