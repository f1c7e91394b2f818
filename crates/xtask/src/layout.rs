//! Measuring a site's own Slurm, by a program that is built only for this: `cargo xtask` compiles without
//! bindgen.

use std::{
    path::{Path, absolute},
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result};
use testbed::programs;

use crate::{packages, run};

/// Tests whose name begins with this measure the source of Debian's Slurm.
pub const TESTS: &str = "cli_layout";

/// Measures the tree in `source` and writes the table file `out`.
pub fn run(source: &Path, out: &Path) -> Result<ExitCode> {
    if !has_libclang()? && programs::find("apt-get").is_ok() {
        packages::install_missing(&packages::LAYOUT)?;
    }
    // The program runs in the workspace.
    let status = program()
        .arg("--source")
        .arg(absolute(source)?)
        .arg("--out")
        .arg(absolute(out)?)
        .status()
        .context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Installs what the tests need.
pub fn prepare_tests() -> Result<()> {
    if !has_libclang()? {
        packages::install_missing(&packages::LAYOUT)?;
    }
    packages::install_missing(&packages::LAYOUT_TESTS)
}

/// Whether the tests have what they need.
pub fn may_test() -> Result<bool> {
    Ok(has_libclang()? && programs::find("dpkg-source").is_ok())
}

/// Asked of the program, since libclang need not come from a package.
fn has_libclang() -> Result<bool> {
    run::cargo(&["build", "--quiet", "--package", "layout"])?;
    let check = program().arg("--check").stderr(Stdio::null()).status().context("cannot run cargo")?;
    Ok(check.success())
}

fn program() -> Command {
    run::cargo_command(&["run", "--quiet", "--package", "layout", "--"])
}
