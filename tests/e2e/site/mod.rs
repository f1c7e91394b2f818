//! Sites of stock Slurm: how they become sites with IPUs, and the files of packages/site for their other tools.

mod ansible;
mod lmod;
mod logrotate;
mod migrate;
mod ondemand;

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result};
use testbed::{Cluster, programs};

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

/// Puts `lines` in place of slurm-vipu's lines in the configuration, but for those of the nodes.
fn make_stock(cluster: &Cluster, lines: &str) -> Result<()> {
    let conf = |name| cluster.layout().conf(name);
    let ours = fs::read_to_string(conf("v-ipu-plugin.conf"))?;
    let keys = ["SelectType=", "GresTypes=", "JobSubmitPlugins=", "PropagateResourceLimitsExcept="];
    let kept = ours.lines().filter(|line| !keys.iter().any(|key| line.starts_with(key)));
    fs::write(conf("v-ipu-plugin.conf"), kept.map(|line| format!("{line}\n")).collect::<String>())?;
    let slurm_conf = fs::read_to_string(conf("slurm.conf"))?;
    fs::write(conf("slurm.conf"), format!("{lines}{slurm_conf}"))?;
    fs::write(conf("plugstack.conf"), "")?;
    Ok(fs::remove_file(conf("vipu.conf"))?)
}
