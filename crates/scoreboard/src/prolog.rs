//! The PrologSlurmctld of a stock side.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::Result;
use tempfile::TempDir;
use testbed::Settings;

/// A script, and the folder in which it takes notes.
pub(crate) struct Prolog(TempDir);

impl Prolog {
    /// A script with these commands, which are given the folder.
    pub(crate) fn new(commands: impl FnOnce(&Path) -> String) -> Result<Self> {
        // SlurmUser runs the script and writes beside it.
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
        let prolog = Self(folder);
        fs::write(prolog.script(), format!("#!/bin/sh\n{}\n", commands(prolog.0.path())))?;
        fs::set_permissions(prolog.script(), Permissions::from_mode(0o755))?;
        Ok(prolog)
    }

    /// A file in which the script takes notes.
    pub(crate) fn note(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn added_to(&self, settings: Settings) -> Settings {
        settings.slurm_conf(&format!("PrologSlurmctld={}", self.script().display()))
    }

    fn script(&self) -> PathBuf {
        self.note("prolog")
    }
}
