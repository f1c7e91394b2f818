//! `cargo xtask bench submit`: what a call of job_submit takes, against that of a Lua script.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use testbed::submit_cost::{self, TARGET, Timed};

use crate::build::{self, Ready};

/// How much is measured.
#[derive(Args)]
pub struct Extent {
    /// How often each request is measured: 5,000 calls of either side each time.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[command(flatten)]
    ready: Ready,
}

/// Builds what is to be measured, and measures it as root, whom slurmctld needs to be started by. Fails if a request that asks for
/// IPUs takes more than the target.
pub fn run(extent: &Extent) -> Result<ExitCode> {
    if let Some(code) = extent.ready.or_again(build::stopwatch)? {
        return Ok(code);
    }
    let timed = submit_cost::measure(extent.rounds)?;
    println!("| request | | Lua | ours | ratio |\n|---|---|---:|---:|---:|");
    for one in &timed {
        let Timed { outcome, request, lua, vipu } = one;
        let (lua, vipu, ratio) = (lua / 1e3, vipu / 1e3, one.ratio());
        println!("| `{request}` | {outcome} | {lua:.2} µs | {vipu:.2} µs | {ratio:.3} |");
    }
    let is_within = timed.iter().all(|one| one.ratio() <= TARGET);
    Ok(if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
