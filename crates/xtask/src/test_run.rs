//! Running all tests and counting them.

use std::{
    fmt,
    io::{BufRead, BufReader},
    process::{Command, ExitCode, Stdio},
    thread,
};

use anyhow::{Context, Result, ensure};
use testbed::say;

use crate::run;

/// The packages whose tests start real daemons, which needs root.
const ON_DAEMONS: [&str; 2] = ["e2e", "testbed"];

/// Tests whose name contains this give a second slurmctld a host name of its own.
const NAMES_A_HOST: &str = "_backup_";

/// Runs the tests whose name contains `filter`; the last line printed is the count.
pub fn run(filter: Option<&str>) -> Result<ExitCode> {
    let mut counts = Counts::default();
    let others = ON_DAEMONS.iter().flat_map(|package| ["--exclude", package]);
    let others: Vec<_> = ["--workspace"].into_iter().chain(others).collect();
    counts.add(&cargo_test(&others, &[], filter, false)?);
    let on_daemons: Vec<_> = ON_DAEMONS.iter().flat_map(|package| ["--package", package]).collect();
    // These tests mostly wait: more of them than cores go together well, but not too many.
    let threads = (2 * thread::available_parallelism().map_or(1, usize::from)).clamp(2, 8).to_string();
    let mut harness = vec!["--test-threads", &threads];
    if !may_name_hosts() {
        say(format!(
            "tests with {NAMES_A_HOST} in their name are skipped: no CAP_SYS_ADMIN here (a container?)"
        ));
        counts.skipped += count_tests(&on_daemons, NAMES_A_HOST, filter)?;
        harness.extend(["--skip", NAMES_A_HOST]);
    }
    counts.add(&cargo_test(&on_daemons, &harness, filter, true)?);
    if counts.passed + counts.failed == 0 {
        let named = filter.map(|filter| format!(" whose name contains '{filter}'"));
        say(format!("there is no test{}", named.unwrap_or_default()));
        counts.failed = 1;
    }
    println!("{counts}");
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether root may give a process a host name of its own here.
fn may_name_hosts() -> bool {
    let tried = run::as_root("unshare").args(["--uts", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// How many tests of these packages have both words in their name.
fn count_tests(packages: &[&str], word: &str, filter: Option<&str>) -> Result<u64> {
    let mut list = run::cargo_command(&["test", "--quiet"]);
    let output = list.args(packages).args(["--", "--list"]).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo test cannot list the tests");
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = names.lines().filter_map(|line| line.strip_suffix(": test"));
    let meant = |name: &&str| name.contains(word) && filter.is_none_or(|filter| name.contains(filter));
    Ok(names.filter(meant).count() as u64)
}

/// Builds these tests, which has to succeed, and runs them.
fn cargo_test(packages: &[&str], harness: &[&str], filter: Option<&str>, as_root: bool) -> Result<Counts> {
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

/// Runs cargo's tests, shows what they print, and counts.
fn count(mut tests: Command) -> Result<Counts> {
    // Where an error came from is in its text; a stack trace of the test would hide it.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        tests.env("RUST_LIB_BACKTRACE", "0");
    }
    let mut child = tests.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        counts.add(&Counts::of_line(&line).unwrap_or_default());
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        // A test binary that crashed prints no result.
        say(format!("cargo test ended with {status}, though no test reported a failure"));
        counts.failed = 1;
    }
    ensure!(status.code().is_some(), "cargo test was killed: {status}");
    Ok(counts)
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    /// Reads the line with which a test binary ends.
    fn of_line(line: &str) -> Option<Self> {
        let (_, parts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let number = |what: &str| {
            let part = parts.split("; ").find_map(|part| part.strip_suffix(what))?;
            part.trim().parse().ok()
        };
        Some(Self { passed: number("passed")?, failed: number("failed")?, skipped: number("ignored")? })
    }

    fn add(&mut self, more: &Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn result_lines_are_counted_and_others_not() {
        let line = "test result: FAILED. 2 passed; 3 failed; 1 ignored; 0 measured; 9 filtered out; finished in 6.40s";
        assert_eq!(Counts::of_line(line), Some(Counts { passed: 2, failed: 3, skipped: 1 }));
        assert_eq!(Counts::of_line("test job::passed ... ok"), None);
        assert_eq!(Counts::of_line("test result: what?"), None);
    }
}
