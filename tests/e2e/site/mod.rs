//! The files of packages/site, for tools that a site has beside Slurm.

mod ansible;
mod lmod;
mod logrotate;
mod ondemand;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result};
use testbed::programs;

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages/site")
}

/// Writes a program, with the folders above it.
fn write_program(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a program is in a folder")?)?;
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

/// PATH with another folder before those that it has.
fn path_with(folder: &Path) -> Result<String> {
    Ok(format!("{}:{}", folder.display(), env::var("PATH")?))
}

/// PATH in which svipu is.
fn path_with_svipu() -> Result<String> {
    let svipu = programs::find("svipu")?;
    path_with(svipu.parent().context("a program is in a folder")?)
}
