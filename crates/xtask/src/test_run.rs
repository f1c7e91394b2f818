//! Running all tests and counting them.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, Result, ensure};
use testbed::{compose, say};

use crate::{layout, results::Results, run, second_try};

/// The tests that start no daemons. All tests are selected in the whole workspace, so that cargo builds their
/// dependencies once, with one set of features.
const OTHERS: [&str; 3] = ["--workspace", "--exclude", "e2e"];

/// The tests that start real daemons, which need root.
const ON_DAEMONS: [&str; 7] = ["--workspace", "--test", "clusters", "--test", "e2e", "--test", "faults"];

/// Tests whose name contains one of these give a second slurmctld a host name of its own, or mount a small
/// disk.
const NEED_CAPABILITY: [&str; 2] = ["_backup_", "_full_at_"];

pub fn run(filter: Option<&str>) -> Result<Results> {
    let mut results = Results::default();
    let mut harness = Vec::new();
    if !layout::may_test() {
        let why = "no dpkg-source here (`cargo xtask ci` installs it)";
        leave_out(&mut results, &OTHERS, layout::TESTS, why, filter)?;
        harness.extend(["--skip", layout::TESTS]);
    }
    build(&OTHERS)?;
    harness.extend(filter);
    let mut tests = run::cargo_command(&["test", "--no-fail-fast"]);
    tests.args(OTHERS).arg("--").args(&harness);
    results.add(&count(tests)?);
    let threads = threads();
    let mut harness = vec!["--test-threads", &threads];
    if !may_name_hosts() {
        let why = "no CAP_SYS_ADMIN here (a container?)";
        for word in NEED_CAPABILITY {
            leave_out(&mut results, &ON_DAEMONS, word, why, filter)?;
            harness.extend(["--skip", word]);
        }
    }
    for (word, why) in [
        (
            "user_container_",
            (!may_have_user_namespaces()).then_some("no user namespaces here (a container?)"),
        ),
        ("_docker_", compose::find_engine().is_err().then_some("no Docker engine answers here")),
    ] {
        if let Some(why) = why {
            leave_out(&mut results, &ON_DAEMONS, word, why, filter)?;
            harness.extend(["--skip", word]);
        }
    }
    build(&ON_DAEMONS)?;
    harness.extend(filter);
    let tests = |harness: &[&str]| {
        let mut tests = as_root(&ON_DAEMONS);
        tests.args(["--no-fail-fast", "--"]).args(harness);
        tests
    };
    results.add(&second_try::count(tests, &harness)?);
    Ok(results)
}

/// The number of tests on daemons that run at a time. It exceeds the number of cores, because these tests
/// mostly wait.
pub fn threads() -> String {
    (3 * thread::available_parallelism().map_or(1, usize::from)).clamp(3, 12).to_string()
}

/// Whether root may give a process its own host name here.
fn may_name_hosts() -> bool {
    let tried = run::as_root("unshare").args(["--uts", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Whether a user may start containers without privileges here.
fn may_have_user_namespaces() -> bool {
    let words =
        ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "unshare", "--user", "--mount", "true"];
    let tried = run::as_root("setpriv").args(words).stderr(Stdio::null()).status();
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

fn build(packages: &[&str]) -> Result<()> {
    let mut build = run::cargo_command(&["test", "--no-run"]);
    build.args(packages);
    run::visibly(build)
}

/// The command that builds these tests and runs them as root.
pub fn as_root(packages: &[&str]) -> Command {
    let mut tests = run::cargo_command(&["test"]);
    tests.args(packages);
    if !run::is_root() {
        let words: Vec<_> = run::to_root().iter().map(|word| format!("{word:?}")).collect();
        tests.arg("--config").arg(format!("target.'cfg(all())'.runner = [{}]", words.join(", ")));
    }
    tests
}

pub fn count(tests: Command) -> Result<Results> {
    watch(tests, str::to_owned)
}

/// Runs tests, shows each line of their output as `shown` returns it, and counts results.
pub fn watch(mut tests: Command, shown: impl Fn(&str) -> String) -> Result<Results> {
    // The text of an error names its origin. A stack trace of the test would hide it.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        tests.env("RUST_LIB_BACKTRACE", "0");
    }
    let mut child =
        tests.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run the tests")?;
    let output = child.stdout.take().context("the tests have no output")?;
    let mut results = Results::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{}", shown(&line));
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
