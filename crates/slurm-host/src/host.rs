//! slurmctld as a whole: its symbols and layouts, found once.

use std::sync::OnceLock;

use slurm_release::Layout;

use crate::running_release;
use crate::symbols::Slurmctld;

/// What every safe view needs: functions, variables and offsets of this slurmctld.
pub(crate) struct Host {
    pub(crate) slurmctld: Slurmctld,
    pub(crate) layout: &'static Layout,
}

/// The host.
///
/// # Errors
/// Outside slurmctld, in an unsupported release, or when a function we use is missing; one line.
pub(crate) fn host() -> Result<&'static Host, String> {
    static HOST: OnceLock<Result<Host, String>> = OnceLock::new();
    HOST.get_or_init(|| {
        let release = running_release::loaded()?.release;
        Ok(Host { slurmctld: Slurmctld::resolve(release.version.series())?, layout: release.layout })
    })
    .as_ref()
    .map_err(Clone::clone)
}

/// Checks that everything the plugins use of slurmctld is there.
///
/// # Errors
/// One line that names what is missing.
pub fn check() -> Result<(), String> {
    host().map(drop)
}
