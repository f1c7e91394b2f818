//! Measures rows of the scoreboard: the part of `cargo xtask bench` that needs root and a release build.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use scoreboard::{Extent, MEASUREMENTS, table};
use testbed::{programs::Build, say};

#[derive(Parser)]
struct Arguments {
    /// One measurement instead of all.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(scoreboard::names()))]
    name: Option<String>,
    /// The page whose table gets the rows. They are printed in any case.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The most pairs of a row. Two are the fewest with an interval.
    #[arg(long, value_name = "NUMBER", default_value_t = usize::MAX, hide_default_value = true)]
    pairs: usize,
}

fn main() -> Result<()> {
    let Arguments { name, page, pairs } = Arguments::parse();
    let extent = Extent::Full { most_pairs: pairs.max(1) };
    let wanted = |measurement: &str| name.as_deref().is_none_or(|name| name == measurement);
    let mut rows = Vec::new();
    for measurement in MEASUREMENTS.iter().filter(|measurement| wanted(measurement.name)) {
        say(format!("measuring {}", measurement.name));
        let measured = (measurement.measure)(extent)?;
        measured.iter().for_each(scoreboard::Row::say_pairs);
        // A later failure does not lose these rows. The page has no comparison with an earlier build.
        if let Some(page) = page.as_ref().filter(|_| Build::earlier().is_err()) {
            table::write(page, &measured)?;
        }
        rows.extend(measured);
    }
    println!("{}", table::lines(&rows));
    Ok(())
}
