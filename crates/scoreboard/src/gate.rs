//! A gate at which processes wait until all may go on together.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Command,
};

use anyhow::{Result, ensure};
use tempfile::TempDir;

/// A fifo. To open it for reading waits until somebody has it open for writing.
pub(crate) struct Gate(TempDir);

impl Gate {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let gate = Self(folder);
        let made = Command::new("mkfifo").args(["-m", "666"]).arg(gate.fifo()).status()?;
        ensure!(made.success(), "mkfifo: {made}");
        Ok(gate)
    }

    /// The shell command that waits at the gate.
    pub(crate) fn wait(&self) -> String {
        format!(": < {}", self.fifo().display())
    }

    /// Opens the gate until the file is dropped.
    pub(crate) fn open(&self) -> Result<File> {
        Ok(OpenOptions::new().read(true).write(true).open(self.fifo())?)
    }

    fn fifo(&self) -> PathBuf {
        self.0.path().join("gate")
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn all_pass_once_the_gate_is_open_and_none_before() {
        let gate = Gate::new().unwrap();
        let shell = |commands: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", commands]).stdout(Stdio::piped());
            shell
        };
        let mut waiting: Vec<_> = (0..3).map(|_| shell(&gate.wait()).spawn().unwrap()).collect();
        assert!(waiting.iter_mut().all(|one| one.try_wait().unwrap().is_none()));
        let open = gate.open().unwrap();
        assert!(waiting.iter_mut().all(|one| one.wait().unwrap().success()));
        assert!(shell(&gate.wait()).status().unwrap().success());
        drop(open);
    }
}
