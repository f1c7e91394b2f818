//! The few settings of slurm.conf that matter here.

use std::path::PathBuf;

use slurm_release::{Field, Layout, Text};

use crate::loaded::loaded;
use crate::record::Record;
use crate::symbols;

/// `slurm_conf` of this process, clients included.
///
/// Slurm re-reads it under its configuration write lock. Callbacks run under that lock or a read lock of
/// it; our own thread takes a read lock before it comes here (SAFETY.md, "slurm_conf").
fn slurm_conf() -> Option<(Record<'static>, &'static Layout)> {
    let at = symbols::find(c"slurm_conf")?;
    let layout = loaded().ok()?.release.layout;
    // SAFETY: the variable exists as long as the process, with the layout of its release.
    Some((unsafe { Record::new(at) }, layout))
}

fn text(field: fn(&Layout) -> Field<Text>) -> Option<String> {
    let (conf, layout) = slurm_conf()?;
    conf.text(field(layout))
}

/// `SelectType`
#[must_use]
pub fn select_type() -> Option<String> {
    text(|layout| layout.slurm_conf.select_type)
}

/// `StateSaveLocation`
#[must_use]
pub fn state_save_location() -> Option<PathBuf> {
    text(|layout| layout.slurm_conf.state_save_location).map(PathBuf::from)
}

/// The folder of slurm.conf, where vipu.conf is too.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let file = PathBuf::from(text(|layout| layout.slurm_conf.slurm_conf)?);
    Some(file.parent()?.to_owned())
}

/// Whether `SelectTypeParameters` holds `other_cons_tres`.
#[must_use]
pub fn other_cons_tres() -> bool {
    const CR_OTHER_CONS_TRES: u16 = 0x0800;
    slurm_conf().is_some_and(|(conf, layout)| {
        conf.read(layout.slurm_conf.select_type_param) & CR_OTHER_CONS_TRES != 0
    })
}

/// Whether `SchedulerParameters` holds `defer`: passes only at intervals, not for each event.
pub(crate) fn scheduling_is_deferred() -> bool {
    text(|layout| layout.slurm_conf.sched_params)
        .is_some_and(|parameters| parameters.split(',').any(|word| word.trim() == "defer"))
}
