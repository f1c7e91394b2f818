//! `cargo xtask bench launch`: how long a job waits when its partition is there, under `Prepare` and without.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::Args;
use testbed::measure::launch_delay::{self, COMMANDS, Delays, Setup};

use crate::build::Ready;

/// How much is measured.
#[derive(Args)]
pub struct Extent {
    /// How long creates take, in seconds.
    #[arg(long, value_delimiter = ',', default_values_t = [0.5, 2.0, 10.0])]
    creates: Vec<f64>,
    /// Jobs of each kind, 7 at most.
    #[arg(long, default_value_t = 5)]
    runs: u32,
    #[command(flatten)]
    ready: Ready,
}

/// Builds what is to be measured, and measures it as root, whom slurmctld needs to be started by.
pub fn run(extent: &Extent) -> Result<ExitCode> {
    if let Some(code) = extent.ready.or_again()? {
        return Ok(code);
    }
    let mut rows = Vec::new();
    for seconds in &extent.creates {
        let delays = launch_delay::measure(Duration::from_secs_f64(*seconds), extent.runs)?;
        rows.push((*seconds, delays));
    }
    print!("{}", table(&rows));
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[(f64, Delays)]) -> String {
    let mut text = "| create | command |".to_owned();
    for setup in Setup::ALL {
        text += &format!(" `{}` |", setup.name());
    }
    text += "\n|---:|---|---:|---:|---:|\n";
    for (seconds, delays) in rows {
        for (number, by) in COMMANDS.iter().enumerate() {
            text += &format!("| {seconds} s | {by} |");
            for setup in delays {
                text += &format!(" {} |", cell(&setup[number]));
            }
            text += "\n";
        }
    }
    text
}

/// The median, and the longest.
fn cell(delays: &[Duration]) -> String {
    let mut sorted: Vec<_> = delays.iter().map(Duration::as_secs_f64).collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    format!("{median:.2} / {:.2} s", sorted.last().copied().unwrap_or_default())
}
