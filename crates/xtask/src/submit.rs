//! `cargo xtask bench submit`: what a call of job_submit takes, against that of a Lua script.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use testbed::submit_cost::{self, Timed};

use crate::{build, packages, run};

/// What ours may take at most, as a part of what the script takes.
const TARGET: f64 = 0.2;

/// How much is measured.
#[derive(Args)]
pub struct Extent {
    /// How often each request is measured: 5,000 calls of either side each time.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// All is installed and built.
    #[arg(long, hide = true)]
    built: bool,
}

/// Builds what is to be measured, and measures it as root, whom slurmctld needs to be started by. Fails if a request that asks for
/// IPUs takes more than the target.
pub fn run(extent: &Extent) -> Result<ExitCode> {
    if !extent.built {
        packages::install_missing(&packages::SLURM)?;
        build::plugins_and_programs()?;
        build::stopwatch()?;
    }
    if let Some(code) = run::again_as_root()? {
        return Ok(code);
    }
    let timed = submit_cost::measure(extent.rounds)?;
    println!("| request | | Lua | ours | ratio |\n|---|---|---:|---:|---:|");
    for Timed { outcome, request, lua, vipu } in &timed {
        let (lua_us, vipu_us, ratio) = (lua / 1e3, vipu / 1e3, vipu / lua);
        println!("| `{request}` | {outcome} | {lua_us:.2} µs | {vipu_us:.2} µs | {ratio:.3} |");
    }
    let is_within = |timed: &Timed| timed.vipu <= TARGET * timed.lua;
    Ok(if timed.iter().all(is_within) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
