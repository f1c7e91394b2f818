//! An earlier save of slurmctld's jobs, put back after slurmctld was killed.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Result;

use crate::{Cluster, wait_for};

/// There is no file for a moment, because Slurm unlinks the old one before it links the new one.
const LIMIT: Duration = Duration::from_secs(5);

/// The jobs as slurmctld has saved them at one time.
#[derive(Clone, Debug)]
pub struct SavedJobs(Vec<u8>);

impl Cluster {
    /// The last save of slurmctld's jobs. [`Cluster::await_saved`] makes it a save of this moment.
    pub fn saved_jobs(&self) -> Result<SavedJobs> {
        let file = self.job_state();
        wait_for("the saved jobs", LIMIT, || Ok(fs::read(&file).ok())).map(SavedJobs)
    }

    /// Kills slurmctld, as if it had saved its jobs for the last time at `saved`. The plugin's journal stays as
    /// it is.
    pub fn kill_slurmctld_back_at(&self, saved: &SavedJobs) -> Result<()> {
        self.kill_slurmctld()?;
        Ok(fs::write(self.job_state(), &saved.0)?)
    }

    fn job_state(&self) -> PathBuf {
        self.layout().state().join("job_state")
    }
}
