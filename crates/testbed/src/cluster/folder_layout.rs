//! The folder of a cluster: its files and their owners.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{Account, Place};

#[derive(Debug)]
pub struct Layout {
    root: TempDir,
}

impl Layout {
    /// Makes the folder. The folders that slurmctld writes to belong to `slurm`.
    pub fn make(slurm: &Account) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("vipu-testbed-").tempdir()?;
        let layout = Self { root };
        permit(layout.root(), 0o755)?;
        for (dir, mode) in
            [("etc", 0o755), ("munge", 0o755), ("spool", 0o755), ("plugins", 0o755), ("mock", 0o755)]
        {
            layout.make_dir(dir, mode)?;
        }
        for (dir, mode) in [("state", 0o700), ("ipuof", 0o755)] {
            let made = layout.make_dir(dir, mode)?;
            chown(&made, Some(slurm.uid), Some(slurm.gid))?;
        }
        // Daemons of several accounts and jobs of any user write here.
        for dir in ["log", "run", "jobs", "commands"] {
            layout.make_dir(dir, 0o1777)?;
        }
        Ok(layout)
    }

    /// The folder of the files that nodes fetch: `/run/slurm-vipu` of this cluster. The first node that needs
    /// the folder makes it.
    pub fn steps(&self) -> PathBuf {
        self.root().join("steps")
    }

    pub(crate) fn make_failpoints(&self, slurm: &Account) -> Result<()> {
        Ok(chown(self.make_dir("failpoints", 0o755)?, Some(slurm.uid), Some(slurm.gid))?)
    }

    fn make_dir(&self, name: &str, mode: u32) -> Result<PathBuf> {
        let path = self.root().join(name);
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        permit(&path, mode)?;
        Ok(path)
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn conf(&self, name: &str) -> PathBuf {
        self.root().join("etc").join(name)
    }

    pub fn logs(&self) -> PathBuf {
        self.root().join("log")
    }

    /// IpuofDir, the folder of the IPUoF files.
    pub fn ipuof(&self) -> PathBuf {
        self.root().join("ipuof")
    }

    /// StateSaveLocation of slurmctld.
    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// The folder through which tests stop the plugin: see the crate `failpoints`.
    pub fn failpoints(&self) -> PathBuf {
        self.root().join("failpoints")
    }

    pub fn plugins(&self) -> PathBuf {
        self.root().join("plugins")
    }

    /// The plugin folder of hosts that have one of their own.
    pub fn plugins_of(&self, place: Place) -> PathBuf {
        self.root().join(format!("plugins-{}", place.name()))
    }

    /// The folder in which jobs run and leave their output.
    pub fn jobs(&self) -> PathBuf {
        self.root().join("jobs")
    }

    pub fn munge_socket(&self) -> PathBuf {
        self.root().join("munge/socket")
    }

    /// Keeps the folder when this value is dropped.
    pub fn keep(&mut self) {
        self.root.disable_cleanup(true);
    }
}

/// Sets the mode of `path` without regard to the umask.
pub fn permit(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}

/// Writes a program, with the folders above it.
pub fn write_program(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a program is in a folder")?)?;
    fs::write(path, text)?;
    permit(path, 0o755)
}
