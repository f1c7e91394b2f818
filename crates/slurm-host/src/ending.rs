//! The end of slurmctld.

use crate::slurmctld::host;

/// Whether slurmctld has begun to end: to stop, to hand control to another slurmctld, or to start anew for a
/// reconfigure. Slurm sends no queued message any more from then on, so that a launch would be lost (`agent`
/// in agent.c, 22.05 to 26.05).
///
/// False if the place of the mark is unknown, because an older slurm-vipu measured the release.
#[must_use]
pub fn is_ending() -> bool {
    let Ok(host) = host() else { return false };
    let Some(layout) = &host.layout.slurmctld_config else { return false };
    let config = host.slurmctld.var.slurmctld_config.address();
    // SAFETY: no lock guards this aligned word of a variable that lives as long as slurmctld; Slurm's own
    // threads read it without one (SAFETY.md, "The end of slurmctld").
    unsafe { config.byte_add(layout.shutdown_time.offset()).cast::<i64>().read_volatile() != 0 }
}
