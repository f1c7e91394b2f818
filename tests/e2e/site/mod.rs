//! The files of packages/site, for tools that a site has beside Slurm.

mod ansible;
mod lmod;
mod logrotate;
mod ondemand;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use testbed::programs;

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packages/site")
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
