//! Running all tests and counting them.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, Result, ensure};
use testbed::say;

use crate::{cost, layout, results::Results, run};

/// The packages whose tests start real daemons, which needs root.
const ON_DAEMONS: [&str; 2] = ["e2e", "testbed"];

/// Tests whose name contains this give a second slurmctld a host name of its own.
const NAMES_A_HOST: &str = "_backup_";

/// Runs the tests whose name contains `filter` on this machine.
pub fn run(filter: Option<&str>) -> Result<Results> {
    let mut results = Results::default();
    let others = ON_DAEMONS.iter().flat_map(|package| ["--exclude", package]);
    let others: Vec<_> = ["--workspace"].into_iter().chain(others).collect();
    let mut harness = Vec::new();
    if !layout::may_test()? {
        let why = "no libclang or dpkg-source here (`cargo xtask ci` installs them)";
        leave_out(&mut results, &others, layout::TESTS, why, filter)?;
        harness.extend(["--skip", layout::TESTS]);
    }
    results.add(&cargo_test(&others, &harness, filter, false)?);
    let on_daemons = [
        "--package",
        "testbed",
        "--package",
        "e2e",
        "--lib",
        "--bins",
        "--test",
        "clusters",
        "--test",
        "e2e",
    ];
    let threads = threads();
    let mut harness = vec!["--test-threads", &threads];
    if !may_name_hosts() {
        let why = "no CAP_SYS_ADMIN here (a container?)";
        leave_out(&mut results, &on_daemons, NAMES_A_HOST, why, filter)?;
        harness.extend(["--skip", NAMES_A_HOST]);
    }
    results.add(&cargo_test(&on_daemons, &harness, filter, true)?);
    results.add(&cost::gate(filter)?);
    Ok(results)
}

/// How many tests on daemons run at a time: they mostly wait, so more of them than cores go together well.
pub fn threads() -> String {
    (2 * thread::available_parallelism().map_or(1, usize::from)).clamp(2, 8).to_string()
}

/// Whether root may give a process a host name of its own here.
fn may_name_hosts() -> bool {
    let tried = run::as_root("unshare").args(["--uts", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Says that tests with this word in their name are skipped, and counts them.
fn leave_out(
    results: &mut Results,
    packages: &[&str],
    word: &str,
    why: &str,
    filter: Option<&str>,
) -> Result<()> {
    say(format!("tests with {word} in their name are skipped: {why}"));
    let mut list = run::cargo_command(&["test", "--quiet"]);
    let output = list.args(packages).args(["--", "--list"]).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo test cannot list the tests");
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    results
        .skip(names.filter(|name| name.contains(word) && filter.is_none_or(|filter| name.contains(filter))));
    Ok(())
}

/// Builds these tests, which has to succeed, and runs them.
fn cargo_test(packages: &[&str], harness: &[&str], filter: Option<&str>, as_root: bool) -> Result<Results> {
    let command = || {
        let mut command = run::cargo_command(&["test"]);
        command.args(packages);
        command
    };
    let mut build = command();
    build.arg("--no-run");
    run::visibly(build)?;
    let mut tests = command();
    tests.arg("--no-fail-fast");
    if as_root && !run::is_root() {
        let words: Vec<_> = run::to_root().iter().map(|word| format!("{word:?}")).collect();
        tests.arg("--config").arg(format!("target.'cfg(all())'.runner = [{}]", words.join(", ")));
    }
    tests.args(filter).arg("--").args(harness);
    count(tests)
}

/// Runs tests, shows what they print, and counts.
pub fn count(mut tests: Command) -> Result<Results> {
    // Where an error came from is in its text; a stack trace of the test would hide it.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        tests.env("RUST_LIB_BACKTRACE", "0");
    }
    let mut child =
        tests.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run the tests")?;
    let output = child.stdout.take().context("the tests have no output")?;
    let mut results = Results::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        results.read(&line);
    }
    let status = child.wait()?;
    if !status.success() && results.total().failed == 0 {
        // A test binary that crashed prints no result.
        say(format!("the tests ended with {status}, though none reported a failure"));
        results.group("").failed += 1;
    }
    ensure!(status.code().is_some(), "the tests were killed: {status}");
    Ok(results)
}
