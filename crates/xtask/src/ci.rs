//! `cargo xtask ci`: the checks that every change has to pass, and with `--full` the checks that take hours.

use std::{path::Path, process::ExitCode, thread};

use anyhow::{Result, bail};
use clap::ValueEnum as _;
use testbed::{compose, programs, say};

use crate::image::Suite;
use crate::matrix::Selection;
use crate::phases::phase;
use crate::pool::{self, Work};
use crate::results::Table;
use crate::test_programs::TestProgram;
use crate::{
    book, build, cargo_deny, crate_layers, dist, faults, fuzz, image, kubernetes, matrix, needed_packages,
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
            build::for_tests()
        },
    );
    let tests = built?;
    soak::program(&tests)?;
    prepared?;
    let mut table = Table::default();
    run_tests(&tests, full, &mut table)?;
    if full {
        needed_packages::install_missing(&needed_packages::VALGRIND)?;
        let valgrind = failed_check("valgrind", || valgrind::run(&tests));
        let prometheus = failed_check("prometheus", || prometheus::run(&tests));
        valgrind.iter().chain(&prometheus).for_each(|check| table.add_failure(check));
    }
    Ok(table.finish())
}

/// Runs the tests without daemons. Then those on daemons: of this machine, of the other releases and of the packages.
fn run_tests(tests: &[TestProgram], full: bool, table: &mut Table) -> Result<()> {
    let here = programs::slurm_version()?;
    let row = here.to_string();
    kubernetes::begin_build(tests, None)?;
    let seeds = if full { MANY_SEEDS } else { test_run::SEEDS };
    let (packages, without_daemons) = beside(
        || match full {
            true => packages_and_upgrades(tests),
            false => phase("packages", || dist::trial_of_tested_objects(tests)),
        },
        || phase("tests without daemons", || test_run::without_daemons(tests, None, &row, seeds, table)),
    );
    without_daemons?;
    let skipped = MEASUREMENTS.map(|word| (word, "measurements run with `ci --full`"));
    let skipped = if full { &[] } else { &skipped[..] };
    let inside = if full { Selection::All } else { Selection::AtCommit(run::commit_number()?) };
    let on_host = if full { faults::with_all_pairs(tests) } else { tests.to_vec() };
    let mut works = test_run::on_daemons(&on_host, None, skipped, &row, table)?;
    works.extend(matrix::works(Suite::value_variants(), inside, Some(here), tests, table)?);
    works.extend(packages?);
    let (failed, done) = beside(
        || Ok(failed_of_quiet_checks(full)),
        || phase("tests on daemons", || pool::run(works, pool::waiting_processes(), table)),
    );
    done?;
    failed?.iter().for_each(|check| table.add_failure(check));
    Ok(())
}

/// Builds the packages that sites get, and the plugins of the commit from which upgrades begin.
fn packages_and_upgrades(tests: &[TestProgram]) -> Result<Vec<Work>> {
    let mut works = phase("packages", || dist::trial_of_shipped_objects(Path::new(dist::OUT), tests))?;
    works.extend(phase("earlier plugins", || upgrade::works(tests, upgrade::FROM, None))?);
    Ok(works)
}

/// Runs the checks that need no daemon, with low priority, beside the tests on daemons, which wait most of their time.
fn failed_of_quiet_checks(full: bool) -> Vec<String> {
    let mut failed = vec![failed_check("rustdoc", run::document)];
    if full {
        failed.push(failed_check("cargo-deny", cargo_deny::check));
        failed.push(failed_check("book", book::run));
        let fuzz =
            |target| failed_check(&format!("fuzz {target}"), || fuzz::run(target, FUZZ_SECONDS, false));
        failed.extend(fuzz::TARGETS.map(fuzz));
    }
    failed.into_iter().flatten().collect()
}

/// Runs a check. Returns its name if it fails.
fn failed_check(name: &str, check: impl FnOnce() -> Result<()>) -> Option<String> {
    let why = phase(name, check).err()?;
    say(format!("{why:#}"));
    Some(name.to_owned())
}

/// Does one thing on a thread beside the other.
fn beside<A: Send, B>(one: impl FnOnce() -> Result<A> + Send, other: impl FnOnce() -> B) -> (Result<A>, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|_| bail!("a panic")), other)
    })
}
