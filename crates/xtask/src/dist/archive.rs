//! The archive with all packages' files, for a Slurm that was not packaged.

use std::{path::Path, process::Command};

use anyhow::Result;

use super::Release;
use crate::run;

pub fn make(release: &Release, tree: &Path, out: &Path) -> Result<()> {
    let name = format!("slurm-vipu-{}-x86_64", release.version);
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tar.arg(format!("--mtime=@{}", release.time)).arg(format!("--transform=flags=r;s,^\\.,{name},"));
    tar.arg(format!("--use-compress-program=gzip -{} --no-name", release.compression.max(1)))
        .arg("--file")
        .arg(out.join(format!("{name}.tar.gz")));
    tar.arg("--directory").arg(tree).arg(".");
    run::visibly(tar)
}
