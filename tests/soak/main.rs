//! Load of all kinds while slurmctld and slurmd are stopped and killed every few seconds: `cargo xtask soak`.
//!
//! A soak has rounds. Each has a cluster of its own, in one of the modes, or stock Slurm. At the end of a round
//! the faults end, and the jobs are counted by the marks of their scripts and by what Slurm says of them.
#![forbid(unsafe_code)]

mod count;
mod load;
mod round;
mod side;
mod strikes;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::Parser;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use testbed::{programs, say};

use crate::{count::Count, side::Side};

/// The shortest round that has a few restarts.
const SHORTEST: u64 = 30;

/// The longest time of faults in one round.
const LONGEST: u64 = 150;

#[derive(Parser)]
struct Arguments {
    /// The time for which new rounds begin.
    minutes: u64,
    /// Stock Slurm, whose PrologSlurmctld takes the time of a create.
    #[arg(long)]
    stock: bool,
    /// The number from which jobs and faults are drawn.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let Arguments { minutes, stock, seed } = Arguments::parse();
    ensure!(minutes > 0, "a soak takes at least a minute");
    let seed = seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    let (begin, whole) = (Instant::now(), Duration::from_secs(60 * minutes));
    let mut total = Count::default();
    let mut sides = Side::all(stock).iter().cycle();
    let mut number = 0;
    while let Some(left) = whole.checked_sub(begin.elapsed())
        && let Some(side) = sides.next()
    {
        number += 1;
        let time = Duration::from_secs(left.as_secs().clamp(SHORTEST, LONGEST));
        say(format!("round {number}, {side:?}: {} s of faults, seed {seed}", time.as_secs()));
        let mut random = StdRng::seed_from_u64(seed + number);
        let count = round::run(*side, time, &mut random)?;
        say(format!("round {number}, {side:?}: {}", count.line()));
        total.add(&count);
    }
    let slurm = programs::slurm_version()?.to_string();
    println!("{}", total.table(&count::heading(&slurm, stock, number, begin.elapsed(), seed)));
    // Stock Slurm is there for its numbers.
    Ok(if stock || total.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
