//! Failpoints, full disks, dead nodes and restarted controllers, for the fault matrix.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    os::unix::fs::{MetadataExt, chown},
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    Account, Cluster, Layout,
    cluster::daemon,
    process::{Lead, Leashed},
    wait_until,
};

/// The longest time until the plugin reaches a failpoint, or a daemon ends.
const LIMIT: Duration = Duration::from_secs(60);

/// A place in the plugin where a test build can be stopped, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failpoint(pub &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Ipuof,
    State,
}

impl Disk {
    fn folder(self, layout: &Layout) -> PathBuf {
        match self {
            Self::Ipuof => layout.ipuof(),
            Self::State => layout.state(),
        }
    }

    fn ballast(self, layout: &Layout) -> PathBuf {
        self.folder(layout).join("ballast")
    }

    /// Mounts a small disk at the folder for the life of the returned process.
    pub(crate) fn mount(self, lead: &Lead, layout: &Layout, slurm: &Account) -> Result<Leashed> {
        let folder = self.folder(layout);
        let mut holder = daemon::disk(slurm, folder.clone()).start(lead, layout)?;
        let around = fs::metadata(layout.root())?.dev();
        wait_until("a small disk to be mounted", LIMIT, || {
            anyhow::ensure!(holder.ended()?.is_none(), "it cannot be mounted: this takes root");
            Ok(fs::metadata(&folder)?.dev() != around)
        })?;
        Ok(holder)
    }
}

impl Cluster {
    /// Stops the plugin each time it reaches this failpoint, until [`Cluster::let_pass`].
    pub fn arm(&self, failpoint: Failpoint) -> Result<()> {
        Ok(fs::write(self.hosts.layout.failpoints().join(failpoint.0), "")?)
    }

    /// Makes the plugin panic with these words when it next reaches this failpoint.
    pub fn arm_panic(&self, failpoint: Failpoint, words: &str) -> Result<()> {
        let file = self.hosts.layout.failpoints().join(failpoint.0);
        let beside = file.with_extension("new");
        fs::write(&beside, words)?;
        Ok(fs::rename(beside, file)?)
    }

    pub fn await_stopped(&self, failpoint: Failpoint) -> Result<()> {
        let reached = self.hosts.layout.failpoints().join(format!("{}.reached", failpoint.0));
        wait_until(&format!("the plugin to come to '{}'", failpoint.0), LIMIT, || Ok(reached.exists()))
    }

    pub fn await_panic(&self, failpoint: Failpoint) -> Result<()> {
        let wanted = self.hosts.layout.failpoints().join(failpoint.0);
        wait_until(&format!("the plugin to panic at '{}'", failpoint.0), LIMIT, || Ok(!wanted.exists()))
    }

    pub fn let_pass(&self, failpoint: Failpoint) -> Result<()> {
        fs::remove_file(self.hosts.layout.failpoints().join(failpoint.0))
            .with_context(|| format!("{failpoint:?}"))
    }

    pub fn fill_disk(&self, disk: Disk) -> Result<()> {
        if disk == Disk::State {
            self.replace_journal()?;
        }
        let mut ballast = File::create(disk.ballast(&self.hosts.layout))?;
        for size in [1 << 16, 1] {
            loop {
                match ballast.write(&vec![0; size]) {
                    Ok(_) => {}
                    Err(full) if full.kind() == ErrorKind::StorageFull => break,
                    Err(other) => return Err(other.into()),
                }
            }
        }
        Ok(())
    }

    /// Replaces the journal with a copy. The plugin then has to write the whole journal, which takes room.
    /// One more line might fit into the last block.
    fn replace_journal(&self) -> Result<()> {
        let journal = self.hosts.layout.state().join("vipu_journal");
        let beside = journal.with_extension("equal");
        fs::copy(&journal, &beside)?;
        chown(&beside, Some(self.hosts.slurm.uid), Some(self.hosts.slurm.gid))?;
        Ok(fs::rename(beside, journal)?)
    }

    pub fn free_disk(&self, disk: Disk) -> Result<()> {
        Ok(fs::remove_file(disk.ballast(&self.hosts.layout))?)
    }

    /// Kills the first controller and starts it again, with its saved state or, if `forgotten`, without.
    pub fn restart_controller(&self, forgotten: bool) -> Result<()> {
        self.mock().restart(&self.hosts.lead, &self.hosts.layout, forgotten)
    }
}
