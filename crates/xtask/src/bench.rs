//! `cargo xtask bench`: slurm-vipu beside stock Slurm, in release builds.

use std::{path::Path, process::Command};

use anyhow::{Result, ensure};
use testbed::{compose, programs::Build};

use crate::{
    build,
    image::{self, Suite},
    matrix, run,
};

/// The page with the table.
const PAGE: &str = "docs/bench.md";

/// Runs one measurement or all, prints their rows, and writes those of the installed Slurm into the table.
pub fn run(name: Option<&str>, pairs: Option<usize>, suite: Option<Suite>) -> Result<()> {
    build::released(&["scoreboard", "mock-vipu", "testbed"])?;
    let program = build::target()?.join("release/scoreboard");
    let mut scoreboard = match suite {
        Some(suite) => in_container(suite, &program)?,
        None => run::as_root(&program.display().to_string()),
    };
    if suite.is_none() {
        scoreboard.arg("--page").arg(run::workspace().join(PAGE));
    }
    scoreboard.args(name);
    if let Some(pairs) = pairs {
        scoreboard.arg("--pairs").arg(pairs.to_string());
    }
    run::visibly(scoreboard)
}

/// The scoreboard on the Slurm of this suite.
fn in_container(suite: Suite, program: &Path) -> Result<Command> {
    ensure!(Build::earlier().is_err(), "an earlier build cannot be measured in a container");
    compose::find_engine()?;
    build::for_tests()?;
    let files = image::stage()?;
    // The staged mock is for tests. Measurements have one without debug assertions.
    for name in ["scoreboard", "mock-vipu-server"] {
        image::stage_file(&program.with_file_name(name), &files.join("bin").join(name))?;
    }
    image::build(suite, image::MIRROR)?;
    Ok(matrix::inside(suite, &files, "scoreboard", &[]))
}
