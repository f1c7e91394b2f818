//! `cargo xtask ci`: the checks that every change has to pass, and with `--full` the checks that take hours.

use std::{path::Path, process::ExitCode, thread};

use anyhow::{Result, bail};
use clap::ValueEnum as _;
use testbed::{compose, programs};

use crate::image::Suite;
use crate::matrix::Selection;
use crate::phases::phase;
use crate::results::Table;
use crate::{
    book, build, cargo_deny, crate_layers, dist, faults, fuzz, image, layout, matrix, needed_packages,
    prometheus, run, test_run, upgrade, valgrind,
};

/// The time for each fuzz target.
const FUZZ_SECONDS: u32 = 300;

/// Words in the names of tests that only `--full` and `cargo xtask test` run: measurements of minutes, of which only
/// values far beyond any target fail.
const MEASUREMENTS: [&str; 2] = ["bench_smoke", "reuse_saves_most_creates"];

/// Runs all checks. The quick ones come first.
pub fn run(full: bool) -> Result<ExitCode> {
    // The engine is looked for first: this is quick, and half of the tests need it.
    if compose::find_compose().is_err() {
        needed_packages::install_missing(&needed_packages::ENGINE)?;
    }
    compose::find_engine()?;
    compose::find_compose()?;
    phase("formatting, layers of crates", || {
        crate_layers::check()?;
        run::cargo(&["fmt", "--all", "--", "--check"])
    })?;
    phase("clippy", || run::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    phase("rustdoc", run::document)?;
    phase("Debian packages", || {
        needed_packages::install_missing(&needed_packages::SLURM)?;
        needed_packages::install_missing(&needed_packages::ACCOUNTING)?;
        needed_packages::install_missing(&needed_packages::CONTAINERS)?;
        needed_packages::install_missing(&needed_packages::SITE_TOOLS)?;
        layout::prepare_tests()
    })?;
    if full {
        cargo_deny::check()?;
    }
    let tests = build::for_tests()?;
    let (mut table, here) = (Table::default(), programs::slurm_version()?);
    // Making the images mostly waits for packages.
    let (images, tests) = thread::scope(|scope| {
        let make =
            || Suite::value_variants().iter().try_for_each(|suite| image::build(*suite, image::MIRROR));
        let images = scope.spawn(move || phase("images", make));
        let skipped = MEASUREMENTS.map(|word| (word, "measurements run with `ci --full`"));
        let tests = test_run::run(&tests, None, if full { &[] } else { &skipped });
        (images.join().unwrap_or_else(|_| bail!("a panic")), tests)
    });
    images?;
    table.add(here.to_string(), tests?);
    let inside = if full { Selection::All } else { Selection::AtCommit(run::commit_number()?) };
    matrix::run(Suite::value_variants(), inside, Some(here), image::MIRROR, &mut table)?;
    if !full {
        phase("packages of ours", || dist::try_tested_objects(&mut table))?;
    }
    if full {
        table.add(format!("{here}, all faults"), faults::run(None)?);
        table.add(format!("{here}, upgrade"), upgrade::run(upgrade::FROM, None)?);
        needed_packages::install_missing(&needed_packages::VALGRIND)?;
        valgrind::run()?;
        prometheus::run()?;
        book::run()?;
        dist::run(Path::new(dist::OUT), Some(&mut table))?;
        fuzz::TARGETS.into_iter().try_for_each(|target| fuzz::run(target, FUZZ_SECONDS, false))?;
    }
    Ok(table.finish())
}
