//! Building the plugins that real daemons load, and the programs that the testbed starts.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result};
use testbed::programs;

use crate::{
    image,
    phases::phase,
    run,
    test_programs::{self, TestProgram},
};

/// Builds the plugins and their helper as they are shipped, and all programs and tests, in the folders in which the testbed
/// finds them.
pub fn for_tests() -> Result<Vec<TestProgram>> {
    phase("build of what is shipped", || released(&[]))?;
    let tests = phase("build of programs and tests", test_programs::build)?;
    // The plugin with failpoints is built beside the programs. Cargo replaces it at the next build without failpoints, so
    // the tests load a copy.
    let name = format!("lib{}", programs::WITH_FAILPOINTS);
    let target = target()?;
    image::stage_file(&target.join("debug").join(&name), &target.join("faults").join(&name))?;
    Ok(tests)
}

/// The folder of everything that cargo builds.
pub fn target() -> Result<PathBuf> {
    let own = env::current_exe()?;
    Ok(own.ancestors().nth(2).context("xtask is in no folder of cargo")?.to_owned())
}

/// Builds what the demo runs, all with one profile, so that each dependency is built once. svipu is for the users of a
/// cluster that stays up.
pub fn for_demo(keep: bool) -> Result<()> {
    let programs = ["ipuof-fetch", "mock-vipu", "testbed"].into_iter().chain(keep.then_some("svipu"));
    let programs = programs.flat_map(|program| ["--package", program]);
    run::cargo(&["build"].into_iter().chain(plugin_packages()).chain(programs).collect::<Vec<_>>())?;
    let (built, folder) = (target()?.join("debug"), demo_plugins()?);
    for name in programs::PLUGINS {
        image::stage_file(&built.join(format!("lib{name}")), &folder.join(name))?;
    }
    image::stage_file(&built.join(programs::HELPER), &folder.join(programs::HELPER))
}

/// The folder of the plugins that [`for_demo`] builds.
pub fn demo_plugins() -> Result<PathBuf> {
    Ok(target()?.join("demo"))
}

/// The cargo arguments that select the plugins.
pub fn plugin_packages() -> impl Iterator<Item = &'static str> {
    let plugins = ["select-vipu", "job-submit-vipu", "slurmctld-vipu", "gres-vipu", "spank-ipuof"];
    plugins.into_iter().flat_map(|plugin| ["--package", plugin])
}

/// Builds the plugins and their helper, and the programs of these packages, as they are shipped.
pub fn released(programs: &[&'static str]) -> Result<()> {
    let release = ["build", "--release", "--package", "ipuof-fetch"];
    let programs = programs.iter().flat_map(|&program| ["--package", program]);
    run::cargo(&release.into_iter().chain(plugin_packages()).chain(programs).collect::<Vec<_>>())
}
