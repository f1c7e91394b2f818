//! The few settings of slurm.conf that slurm-vipu reads.

use std::ffi::c_char;
use std::path::PathBuf;

use slurm_release::{Field, Layout, Text};

use crate::differences::is_since;
use crate::record::{Record, c_string};
use crate::running_release::{conf_folder_at_load, loaded};
use crate::{selfcheck, symbols};

/// Returns `slurm_conf` of this process, clients included; `None` if it is not where the release has it.
///
/// Slurm re-reads the structure under its configuration write lock. Callbacks run under that lock or under a
/// read lock of it. Our own thread takes a read lock before it comes here (SAFETY.md, "slurm_conf").
fn slurm_conf() -> Option<(Record<'static>, &'static Layout)> {
    let at = symbols::find(c"slurm_conf")?;
    let layout = loaded().ok()?.release.layout;
    if !selfcheck::conf_is_as_expected() {
        return None;
    }
    // SAFETY: the variable exists as long as the process, with the layout of its release.
    Some((unsafe { Record::new(at) }, layout))
}

fn value(field: fn(&Layout) -> Field<Text>) -> Option<String> {
    let (conf, layout) = slurm_conf()?;
    conf.text(field(layout))
}

/// `SelectType`
pub fn select_type() -> Option<String> {
    value(|layout| layout.slurm_conf.select_type)
}

/// `StateSaveLocation`
pub fn state_save_location() -> Option<PathBuf> {
    value(|layout| layout.slurm_conf.state_save_location).map(PathBuf::from)
}

/// `ClusterName`
pub fn cluster_name() -> Option<String> {
    value(|layout| layout.slurm_conf.cluster_name)
}

/// `Licenses`
pub fn licenses() -> Option<String> {
    value(|layout| layout.slurm_conf.licenses)
}

/// The id of `SlurmUser`: `slurm_user_id`.
pub fn slurm_user() -> Option<u32> {
    slurm_conf().map(|(conf, layout)| conf.read(layout.slurm_conf.slurm_user_id))
}

/// `BatchStartTimeout`, in seconds: the longest time between a launch and the start of the script, with the
/// prolog.
pub fn batch_start_timeout() -> i64 {
    const DEFAULT: i64 = 10;
    slurm_conf().map_or(DEFAULT, |(conf, layout)| conf.read(layout.slurm_conf.batch_start_timeout).into())
}

/// `SlurmctldPidFile`
pub fn slurmctld_pid_file() -> Option<PathBuf> {
    value(|layout| layout.slurm_conf.slurmctld_pidfile).map(PathBuf::from)
}

/// Whether `PrivateData` holds `jobs`: a user sees no job of another user. Also if `slurm_conf` cannot be
/// read.
pub fn hides_jobs() -> bool {
    /// `PRIVATE_DATA_JOBS`, equal in every release
    const JOBS: u16 = 1 << 0;
    hides(JOBS)
}

/// Whether `PrivateData` holds `reservations`: a user sees no reservation of others. Also if `slurm_conf` cannot be
/// read.
pub fn hides_reservations() -> bool {
    /// `PRIVATE_DATA_RESERVATIONS`, equal in every release
    const RESERVATIONS: u16 = 1 << 6;
    hides(RESERVATIONS)
}

fn hides(bit: u16) -> bool {
    slurm_conf().is_none_or(|(conf, layout)| conf.read(layout.slurm_conf.private_data) & bit != 0)
}

/// `PlugStackConfig`
pub(crate) fn plugstack() -> Option<PathBuf> {
    value(|layout| layout.slurm_conf.plugstack).map(PathBuf::from)
}

/// Changes `PlugStackConfig` in this process. `None` if its place is unknown.
///
/// # Safety
/// No other thread reads it.
pub(crate) unsafe fn set_plugstack(path: &str) -> Option<()> {
    let (conf, layout) = slurm_conf()?;
    // SAFETY: `char *xstrdup(const char *)` in every release.
    let xstrdup =
        unsafe { symbols::function::<unsafe extern "C" fn(*const c_char) -> *mut c_char>(c"slurm_xstrdup")? };
    let member = conf.member(layout.slurm_conf.plugstack).cast::<*mut c_char>();
    // SAFETY: a text of Slurm's allocator for a member that nobody else reads (caller). The old text stays in memory:
    // slurmstepd lives for one step.
    unsafe { member.write(xstrdup(c_string(path).as_ptr())) };
    Some(())
}

/// Whether `SlurmctldParameters` holds `enable_configless`: nodes may have only the configuration that
/// slurmctld sends.
pub fn is_configless() -> bool {
    let parameters = value(|layout| layout.slurm_conf.slurmctld_params).unwrap_or_default();
    parameters.split(',').any(|word| word.trim().eq_ignore_ascii_case("enable_configless"))
}

/// The path of slurm.conf. slurmstepd does not get it.
pub fn file() -> Option<PathBuf> {
    value(|layout| layout.slurm_conf.slurm_conf).map(PathBuf::from)
}

/// The folder of slurm.conf, which also contains vipu.conf.
pub fn folder() -> Option<PathBuf> {
    let Some(file) = file() else { return conf_folder_at_load() };
    Some(file.parent()?.to_owned())
}

/// Whether slurm.conf names select/cons_tres as the selector underneath, by `other_cons_tres` in
/// `SelectTypeParameters`. From 24.05 on this word is an error of slurm.conf.
pub(crate) fn is_other_cons_tres_set() -> bool {
    const CR_OTHER_CONS_TRES: u16 = 0x0800;
    let is_set = |(conf, layout): (Record<'_>, &Layout)| {
        conf.read(layout.slurm_conf.select_type_param) & CR_OTHER_CONS_TRES != 0
    };
    !is_since(24, 5) && slurm_conf().is_some_and(is_set)
}

/// Whether `SchedulerParameters` holds `defer`: passes only at intervals, not for each event.
pub(crate) fn scheduling_is_deferred() -> bool {
    scheduler_parameter("defer").is_some()
}

/// Whether `SchedulerParameters` holds `bf_licenses`: backfill plans licences, and the main scheduler leaves
/// to backfill all jobs behind one that waits for a licence.
pub(crate) fn keeps_licenses() -> bool {
    scheduler_parameter("bf_licenses").is_some()
}

/// The seconds between two looks at a waiting job, of the scheduler that comes less often: `bf_interval` or
/// `sched_interval` of `SchedulerParameters`, or Slurm's defaults. Backfill stays away while nothing changes.
pub fn scheduling_interval() -> i64 {
    let seconds = |name, default| {
        let set = scheduler_parameter(name).and_then(|value| value.parse().ok());
        set.filter(|seconds| *seconds > 0).unwrap_or(default)
    };
    seconds("bf_interval", 30).max(seconds("sched_interval", 60))
}

/// Returns the text behind the `=` of a word of `SchedulerParameters`, empty without a `=`; `None` if there
/// is no such word.
fn scheduler_parameter(name: &str) -> Option<String> {
    let parameters = value(|layout| layout.slurm_conf.sched_params)?;
    let mut words =
        parameters.split(',').map(|word| word.trim().split_once('=').unwrap_or((word.trim(), "")));
    words.find_map(|(word, value)| (word == name).then(|| value.to_owned()))
}
