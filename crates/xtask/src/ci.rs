//! `cargo xtask ci`: the checks that every change has to pass, and with `--full` the checks that take hours.

use std::{path::Path, process::ExitCode, thread};

use anyhow::{Result, bail};
use clap::ValueEnum as _;
use testbed::{compose, programs, say};

use crate::image::Suite;
use crate::matrix::Selection;
use crate::phases::phase;
use crate::results::{Results, Table};
use crate::test_programs::TestProgram;
use crate::{
    book, build, cargo_deny, crate_layers, dist, faults, fuzz, image, matrix, needed_packages, pool,
    prometheus, run, soak, test_run, upgrade, valgrind,
};

/// The time for each fuzz target.
const FUZZ_SECONDS: u32 = 300;

/// Words in the names of tests that only `--full` and `cargo xtask test` run: measurements of minutes, of which only
/// values far beyond any target fail.
const MEASUREMENTS: [&str; 2] = ["bench_smoke", "reuse_saves_most_creates"];

/// The seeds that the recovery simulation plays with `--full`.
const MANY_SEEDS: u64 = 400;

/// Runs all checks. The quick ones come first. Making the images mostly waits for packages, so it begins at once.
pub fn run(full: bool) -> Result<ExitCode> {
    // The engine is looked for first: this is quick, and half of the tests need it.
    if compose::find_compose().is_err() {
        needed_packages::install_missing(&needed_packages::ENGINE)?;
    }
    compose::find_engine()?;
    compose::find_compose()?;
    let (prepared, built) = beside(
        || {
            phase("Debian packages", || {
                needed_packages::install_for_tests()?;
                needed_packages::install_missing(&needed_packages::LAYOUT_TESTS)?;
                needed_packages::install_missing(&needed_packages::DIST)
            })?;
            phase("images", || matrix::make_images(Suite::value_variants(), image::MIRROR))
        },
        || {
            phase("formatting, layers of crates", || {
                crate_layers::check()?;
                run::cargo(&["fmt", "--all", "--", "--check"])
            })?;
            let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
            phase("clippy", || run::cargo(&clippy))?;
            if full {
                cargo_deny::check()?;
            }
            build::for_tests()
        },
    );
    let tests = built?;
    soak::program(&tests)?;
    prepared?;
    let mut table = Table::default();
    run_tests(&tests, full, &mut table)?;
    if full {
        let here = programs::slurm_version()?;
        table.add(&format!("{here}, all faults"), &faults::run(&tests, None)?);
        upgrade::run(&tests, upgrade::FROM, None, &mut table)?;
        needed_packages::install_missing(&needed_packages::VALGRIND)?;
        valgrind::run(&tests)?;
        prometheus::run(&tests)?;
        book::run()?;
        dist::try_shipped(Path::new(dist::OUT), &tests, &mut table)?;
        fuzz::TARGETS.into_iter().try_for_each(|target| fuzz::run(target, FUZZ_SECONDS, false))?;
    }
    Ok(table.finish())
}

/// Runs the tests without daemons. Then those on daemons: of this machine, of the other releases and of the packages.
fn run_tests(tests: &[TestProgram], full: bool, table: &mut Table) -> Result<()> {
    let here = programs::slurm_version()?;
    let row = here.to_string();
    let seeds = if full { MANY_SEEDS } else { test_run::SEEDS };
    let (trial, without_daemons) = beside(
        // `--full` tries the packages that sites get.
        || match full {
            true => Ok(Vec::new()),
            false => phase("packages", || dist::trial_of_tested_objects(tests)),
        },
        || phase("tests without daemons", || test_run::without_daemons(tests, None, &row, seeds, table)),
    );
    without_daemons?;
    let skipped = MEASUREMENTS.map(|word| (word, "measurements run with `ci --full`"));
    let skipped = if full { &[] } else { &skipped[..] };
    let inside = if full { Selection::All } else { Selection::AtCommit(run::commit_number()?) };
    let mut works = test_run::on_daemons(tests, None, skipped, &row, table)?;
    works.extend(matrix::works(Suite::value_variants(), inside, Some(here), tests, table)?);
    works.extend(trial?);
    let (documented, done) = beside(
        || phase("rustdoc", run::document),
        || phase("tests on daemons", || pool::run(works, pool::waiting_processes(), table)),
    );
    done?;
    if let Err(why) = documented {
        say(format!("{why:#}"));
        let mut failed = Results::default();
        failed.group("rustdoc").failed += 1;
        table.add("rustdoc", &failed);
    }
    Ok(())
}

/// Does one thing on a thread beside the other.
fn beside<A: Send, B>(one: impl FnOnce() -> Result<A> + Send, other: impl FnOnce() -> B) -> (Result<A>, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|_| bail!("a panic")), other)
    })
}
