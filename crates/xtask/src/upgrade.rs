//! Tests of upgrades from an earlier commit to this one, and back, on real daemons.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use testbed::programs;

use crate::pool::Work;
use crate::test_programs::{self, TestProgram};
use crate::{build, image, run};

/// The last commit that counts no IPUs where Slurm counts (decision 65), so that an upgrade from it changes what jobs
/// leave in Slurm's records. slurm-vipu has no released version yet; the last release takes this place once there is
/// one.
pub const FROM: &str = "adf3962dbead55692fbf97f905527cafbf17a959";

/// The variable by which the testbed finds the earlier plugins.
const VARIABLE: &str = "VIPU_EARLIER_DIR";

/// The tests whose name contains `filter`, with the plugins of the earlier commit, which are built once.
pub fn works(tests: &[TestProgram], from: &str, filter: Option<&str>) -> Result<Vec<Work>> {
    ensure!(
        run::is_root(),
        "run this in a root shell: sudo may drop the variable that names the earlier plugins"
    );
    let earlier = earlier_plugins(from)?;
    let program = test_programs::end_to_end(tests, "upgrade")?.with(VARIABLE, earlier.to_string_lossy());
    let row = format!("{}, upgrade", programs::slurm_version()?);
    let (names, command) = (program.tests(filter)?, program.in_pool_as_root());
    Ok(names.iter().map(|test| Work::test(&row, &command, test)).collect())
}

/// The folder with the plugins of this commit.
fn earlier_plugins(commit: &str) -> Result<PathBuf> {
    let commit = full_name(commit)?;
    let folder = run::workspace().canonicalize()?.join("target/upgrade").join(&commit);
    let plugins = folder.join("plugins");
    if programs::PLUGINS.iter().all(|name| plugins.join(name).is_file()) {
        return Ok(plugins);
    }
    let source = folder.join("source");
    unpack(&commit, &source)?;
    let mut cargo = run::cargo_command(&["build", "--release"]);
    cargo.args(build::plugin_packages()).current_dir(&source).env("CARGO_TARGET_DIR", source.join("target"));
    run::visibly(cargo)?;
    for name in programs::PLUGINS {
        let file = source.join(format!("target/release/lib{name}"));
        image::stage_file(&file, &plugins.join(name))?;
    }
    // Only the plugins are needed from here on.
    fs::remove_dir_all(&source)?;
    Ok(plugins)
}

fn full_name(commit: &str) -> Result<String> {
    let output = run::git(&["rev-parse", "--verify", &format!("{commit}^{{commit}}")]).output()?;
    ensure!(
        output.status.success(),
        "commit {commit} is not in this clone: name another one with --from, or get it with `git fetch --unshallow`"
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Writes the files of the commit into the folder.
fn unpack(commit: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut archive =
        run::git(&["archive", commit]).stdout(Stdio::piped()).spawn().context("cannot run git")?;
    let mut tar = Command::new("tar");
    tar.arg("-xC").arg(folder).stdin(archive.stdout.take().context("git has no output")?);
    let unpacked = tar.status().context("cannot run tar")?;
    ensure!(archive.wait()?.success() && unpacked.success(), "cannot unpack commit {commit}");
    Ok(())
}
