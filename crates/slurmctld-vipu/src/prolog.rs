//! The warning of a site whose Prolog has the variables of srun, and not those of slurmctld.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use slurm_conf::{Files, SlurmConf};
use tracing::warn;

/// The files of slurmctld's host.
struct OnDisk;

impl Files for OnDisk {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        failpoints::io!("slurm.conf");
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    }

    /// slurm.conf includes single files only.
    fn matching(&mut self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Logs the warning. `release` is Slurm's `SLURM_VERSION_NUMBER`. slurmctld has read the file at its start.
pub(crate) fn warn_if_srun_is_heard(slurm_conf: &Path, release: u32) {
    if SlurmConf::read(slurm_conf, &mut OnDisk).is_ok_and(|conf| conf.prolog_hears_srun(release)) {
        warn!(
            "slurm.conf has a Prolog without PrologFlags=Alloc: where srun starts a job's first step on a node, \
             Prolog has the SPANK_ variables that srun sends, not those of slurmctld; write PrologFlags=Alloc and run scontrol \
             reconfigure"
        );
    }
}
