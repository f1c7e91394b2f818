//! `cargo xtask bench slurmctld`: what scheduling costs slurmctld under our selector, against the stock one.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::Args;
use testbed::{
    measure::scheduling_cost::{self, Quantity, Scale},
    say,
};

use crate::build::Ready;

/// How closely a ratio is to be known: the 95 % interval reaches no further from it, as a part of it.
const REACH: f64 = 0.02;

/// Fewer pairs do not tell how much they scatter.
const FEWEST_PAIRS: usize = 5;

/// How much is measured.
#[derive(Args)]
pub struct Extent {
    /// Nodes; two jobs fill each, and as many again wait.
    #[arg(long, default_value_t = Scale::FULL.nodes)]
    nodes: u32,
    /// IPUs of the largest job that waits. Above 1, IPU jobs wait longer than their nodes make them, and
    /// backfill tries each of them at more moments: the stock selector, which counts no IPUs, has less to do
    /// then.
    #[arg(long, default_value_t = Scale::FULL.largest)]
    largest: u32,
    /// Stop after so many pairs, however wide the intervals are.
    #[arg(long, default_value_t = 60)]
    pairs: usize,
    /// Stop after so many minutes, however wide the intervals are.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// 50 nodes, 2 pairs.
    #[arg(long, conflicts_with_all = ["nodes", "largest", "pairs", "minutes"])]
    smoke: bool,
    #[command(flatten)]
    ready: Ready,
}

/// Builds what is to be measured, and measures it as root, whom slurmctld needs to be started by. Fails if
/// the processor time is above ten times the target.
pub fn run(extent: &Extent) -> Result<ExitCode> {
    extent.ready.or_again()?.map_or_else(|| measure(extent), Ok)
}

fn measure(extent: &Extent) -> Result<ExitCode> {
    let start = Instant::now();
    let limit = Duration::from_secs(60 * extent.minutes);
    let quantities = if extent.smoke {
        scheduling_cost::compare(Scale::SMOKE, |quantities| quantities[0].pairs.len() >= 2)?
    } else {
        let scale = Scale { nodes: extent.nodes, largest: extent.largest.clamp(1, 64) };
        scheduling_cost::compare(scale, |quantities| {
            println!("{}", table(quantities));
            let pairs = quantities[0].pairs.len();
            let known = pairs >= FEWEST_PAIRS && quantities.iter().all(is_known);
            known || pairs >= extent.pairs || start.elapsed() >= limit
        })?
    };
    println!("{}", table(&quantities));
    for quantity in quantities.iter().filter(|quantity| !is_known(quantity)) {
        say(format!("the interval of the {} is wider than ±{} %", quantity.name, 100.0 * REACH));
    }
    // What the clock on the wall shows depends on what else the machine does.
    let ratio = quantities[0].ratio().map_or(0.0, |ratio| ratio.mean);
    Ok(if ratio <= 10.0 * scheduling_cost::TARGET { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_known(quantity: &Quantity) -> bool {
    quantity.ratio().is_some_and(|ratio| ratio.reach() <= REACH)
}

fn table(quantities: &[Quantity]) -> String {
    let mut text =
        "| | stock | ours | ratio | 95 % interval | pairs |\n|---|---:|---:|---:|---|---:|\n".to_owned();
    for quantity in quantities {
        let (ours, stock) = quantity.means();
        let (ours, stock) = (1e3 * ours, 1e3 * stock);
        let ratio = quantity.ratio().map_or_else(
            || "| ".to_owned(),
            |ratio| format!("{:.3} | {:.3} to {:.3}", ratio.mean, ratio.low, ratio.high),
        );
        let (name, pairs) = (quantity.name, quantity.pairs.len());
        text += &format!("| {name} | {stock:.0} ms | {ours:.0} ms | {ratio} | {pairs} |\n");
    }
    text
}
