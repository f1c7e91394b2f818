//! Measures rows of the scoreboard: the part of `cargo xtask bench` that needs root and a release build.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use scoreboard::{Extent, MEASUREMENTS, table};
use testbed::say;

#[derive(Parser)]
struct Arguments {
    /// One measurement instead of all.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(scoreboard::names()))]
    name: Option<String>,
    /// The page whose table gets the rows.
    #[arg(long, value_name = "FILE")]
    page: PathBuf,
}

fn main() -> Result<()> {
    let Arguments { name, page } = Arguments::parse();
    let wanted = |measurement: &str| name.as_deref().is_none_or(|name| name == measurement);
    let mut rows = Vec::new();
    for measurement in MEASUREMENTS.iter().filter(|measurement| wanted(measurement.name)) {
        say(format!("measuring {}", measurement.name));
        let measured = (measurement.measure)(Extent::Full)?;
        measured.iter().for_each(scoreboard::Row::say_pairs);
        // A later failure does not lose these rows.
        table::write(&page, &measured)?;
        rows.extend(measured);
    }
    println!("{}", table::lines(&rows));
    Ok(())
}
