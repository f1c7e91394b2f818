//! slurmctld's saves: an earlier save of its jobs, put back after it was killed, and a StateSaveLocation that hangs while
//! slurmctld ends, as a file server may.

use std::{
    fs::{self, File},
    os::unix::fs::{FileTypeExt, OpenOptionsExt, chown},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::{Cluster, wait_for, wait_until};

const LIMIT: Duration = Duration::from_secs(30);

/// The jobs as slurmctld has saved them at one time.
#[derive(Clone, Debug)]
pub struct SavedJobs(Vec<u8>);

/// The file with which slurmctld has to wait, of those that it writes when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowFile {
    /// slurmctld writes it before it saves its jobs.
    BeforeJobs,
    /// slurmctld writes it after it has saved its jobs.
    AfterJobs,
}

/// slurmctld waits with its last save.
#[derive(Debug)]
pub struct SlowSave {
    file: PathBuf,
    reader: Option<File>,
}

impl Cluster {
    /// The last save of slurmctld's jobs. [`Cluster::await_saved`] makes it a save of this moment.
    pub fn saved_jobs(&self) -> Result<SavedJobs> {
        /// There is no file for a moment, because Slurm unlinks the old one before it links the new one.
        const LIMIT: Duration = Duration::from_secs(5);
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

    /// Has slurmctld end, and wait in its last save until [`SlowSave::go_on`]. Returns when it waits there.
    pub fn stop_slurmctld_slowly(&self, at: SlowFile) -> Result<SlowSave> {
        let name = if at == SlowFile::BeforeJobs { "last_tres" } else { "trigger_state" };
        let state = self.layout().state();
        let save = SlowSave { file: state.join(name), reader: None };
        // The file is new: slurmctld may save at any time.
        if at == SlowFile::BeforeJobs {
            self.await_saved()?;
        }
        // A pipe cannot be flushed.
        self.expect_log("state save file: Invalid argument");
        // A pipe that nobody reads cannot be opened for writing.
        mknodat(CWD, save.next(), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
        chown(save.next(), Some(self.hosts.slurm.uid), Some(self.hosts.slurm.gid))?;
        let (asked, seen) = (SystemTime::now(), self.slurmctld_log().len());
        self.slurmctld()?.signal(rustix::process::Signal::TERM)?;
        wait_until("slurmctld to save its state", LIMIT, || {
            Ok(self.slurmctld_log().get(seen..).is_some_and(|log| log.contains("Saving all slurm state")))
        })?;
        if at == SlowFile::AfterJobs {
            let saved = || fs::metadata(state.join("job_state")).and_then(|file| file.modified());
            wait_until("slurmctld to save its jobs", LIMIT, || Ok(saved().is_ok_and(|saved| saved > asked)))?;
        }
        Ok(save)
    }
}

impl SlowSave {
    fn next(&self) -> PathBuf {
        self.file.with_extension("new")
    }

    /// Lets slurmctld end, and waits for its end.
    pub fn go_on(mut self, cluster: &Cluster) -> Result<()> {
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits())?;
        // Opened for both, it waits for nobody, and has room for the whole file.
        self.reader =
            Some(File::options().read(true).write(true).custom_flags(nonblocking).open(self.next())?);
        cluster.await_slurmctld_gone()?;
        // The next slurmctld would read the pipe. 22.05 has saved it as the file.
        for pipe in [self.next(), self.file.clone()] {
            if fs::symlink_metadata(&pipe).is_ok_and(|file| file.file_type().is_fifo()) {
                fs::remove_file(pipe)?;
            }
        }
        let before = self.file.with_extension("old");
        if !self.file.exists() && before.exists() {
            fs::rename(before, &self.file)?;
        }
        Ok(())
    }
}
