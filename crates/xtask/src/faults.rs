//! `cargo xtask test --faults full`: every fault at every step of a job.

use std::fs;

use anyhow::{Context, Result};
use clap::ValueEnum;
use testbed::say;

use crate::{results::Results, run, second_try, test_programs, test_run};

/// The table of all pairs, which is kept in the tree.
const TABLE: &str = "docs/faults.md";

const OF_SOME: &str = "target/faults.md";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Extent {
    /// All; without this option the tests have a part of them
    Full,
}

/// Runs all pairs whose test's name contains `filter`, and prints their table. The table of a run without
/// `filter` is kept.
pub fn run(filter: Option<&str>) -> Result<Results> {
    let table = run::workspace().join(if filter.is_some() { OF_SOME } else { TABLE });
    fs::create_dir_all(table.with_file_name(""))?;
    let program = test_programs::end_to_end("faults")?;
    let tests = |harness: &[&str]| {
        let mut tests = program.command_as_root();
        tests.env("VIPU_FAULT_CASES", "full").args(harness);
        // A second try writes no table.
        if !harness.contains(&"--exact") {
            tests.env("VIPU_FAULT_REPORT", &table);
        }
        tests
    };
    let threads = test_run::threads();
    let harness: Vec<_> = ["--test-threads", &threads].into_iter().chain(filter).collect();
    let results = second_try::count(tests, &harness)?;
    let text = fs::read_to_string(&table).with_context(|| format!("no {}", table.display()))?;
    println!("{text}");
    say(format!("the table is in {}", table.display()));
    Ok(results)
}
