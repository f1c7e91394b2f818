//! `cargo xtask bench`: slurm-vipu beside stock Slurm, in release builds.

use std::env;

use anyhow::{Context, Result};

use crate::{build, run};

/// The page with the table.
const PAGE: &str = "docs/bench.md";

/// Runs one measurement or all, prints their rows, and writes them into the table.
pub fn run(name: Option<&str>, pairs: Option<usize>) -> Result<()> {
    build::released(&["scoreboard", "mock-vipu", "testbed"])?;
    let own = env::current_exe()?;
    let folder = own.ancestors().nth(2).context("this program is in no target folder")?;
    let mut scoreboard = run::as_root(&folder.join("release/scoreboard").display().to_string());
    scoreboard.arg("--page").arg(run::workspace().join(PAGE)).args(name);
    if let Some(pairs) = pairs {
        scoreboard.arg("--pairs").arg(pairs.to_string());
    }
    run::visibly(scoreboard)
}
