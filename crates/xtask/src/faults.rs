//! `cargo xtask test --faults full`: every fault at every step of a job.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;
use testbed::say;

use crate::pool;
use crate::results::Results;
use crate::run;
use crate::test_programs::{self, TestProgram};

/// The table of all pairs, which is kept in the tree.
const TABLE: &str = "docs/faults.md";

const OF_SOME: &str = "target/faults.md";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Extent {
    /// All; without this option the tests have a part of them
    Full,
}

/// The variable that chooses the pairs, and its value for all of them.
const ALL: (&str, &str) = ("VIPU_FAULT_CASES", "full");

/// The programs, with all pairs in the place of a part of them.
pub fn with_all_pairs(tests: &[TestProgram]) -> Vec<TestProgram> {
    tests.iter().map(|program| program.with(ALL.0, ALL.1)).collect()
}

/// Runs all pairs whose test's name contains `filter`, and prints their table. The table of a run without
/// `filter` is kept.
pub fn run(tests: &[TestProgram], filter: Option<&str>) -> Result<Results> {
    let table = run::workspace().join(if filter.is_some() { OF_SOME } else { TABLE });
    fs::create_dir_all(table.with_file_name(""))?;
    let mut all = test_programs::end_to_end(tests, "faults")?.command_as_root();
    all.env(ALL.0, ALL.1).env("VIPU_FAULT_REPORT", &table).env("RUST_LIB_BACKTRACE", "0");
    all.arg("--test-threads").arg(pool::waiting_processes().to_string()).args(filter);
    let results = watch(all)?;
    let text = fs::read_to_string(&table).with_context(|| format!("no {}", table.display()))?;
    println!("{text}");
    say(format!("the table is in {}", table.display()));
    Ok(results)
}

/// Runs the pairs in one process, which writes the table, and shows its output as it comes.
fn watch(mut all: Command) -> Result<Results> {
    let mut child =
        all.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run the tests")?;
    let output = child.stdout.take().context("the tests have no output")?;
    let mut results = Results::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        results.read(&line);
    }
    results.read_status(child.wait()?);
    Ok(results)
}
