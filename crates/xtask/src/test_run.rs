//! Running all tests and counting them.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Context, Result, bail};
use testbed::{compose, say};

use crate::{
    layout,
    phases::phase,
    results::Results,
    run, second_try,
    test_programs::{self, TestProgram},
};

/// The programs of the tests that start real daemons, which need root.
const ON_DAEMONS: [&str; 3] = ["clusters", "e2e", "faults"];

/// Tests whose name contains one of these give a second slurmctld a host name of its own, or mount a small
/// disk.
const NEED_CAPABILITY: [&str; 2] = ["_backup_", "_full_at_"];

/// Runs all tests of these programs, or those whose name contains `filter`. Tests on daemons with one of the words of
/// `skipped` in their name are skipped, for the reason beside it.
pub fn run(programs: &[TestProgram], filter: Option<&str>, skipped: &[(&str, &str)]) -> Result<Results> {
    let mut results = Results::default();
    let (on_daemons, others): (Vec<_>, _) = programs.iter().partition(|program| program.is_end_to_end());
    let mut left_out = Vec::new();
    if !layout::may_test() {
        left_out.push((layout::TESTS, "no dpkg-source here (`cargo xtask ci` installs it)"));
    }
    let harness = without(&others, &left_out, filter, &mut results)?;
    results.add(&phase("tests without daemons", || beside_each_other(&others, &harness))?);
    let mut examples = run::cargo_command(&["test", "--doc", "--workspace", "--no-fail-fast"]);
    examples.args(test_programs::FAILPOINTS).arg("--").args(filter);
    results.add(&phase("examples in documentation", || count(examples))?);

    let mut left_out = skipped.to_vec();
    if !may_name_hosts() {
        left_out.extend(NEED_CAPABILITY.map(|word| (word, "no CAP_SYS_ADMIN here (a container?)")));
    }
    if !may_have_user_namespaces() {
        left_out.push(("user_container_", "no user namespaces here (a container?)"));
    }
    if compose::find_engine().is_err() {
        left_out.push(("_docker_", "no Docker engine answers here"));
    }
    let on_daemons: Vec<_> =
        on_daemons.into_iter().filter(|program| ON_DAEMONS.contains(&program.name.as_str())).collect();
    let threads = threads();
    let harness = without(&on_daemons, &left_out, filter, &mut results)?;
    let harness = [vec!["--test-threads", &threads], harness].concat();
    for program in on_daemons {
        let tests = |harness: &[&str]| {
            let mut tests = program.command_as_root();
            tests.args(harness);
            tests
        };
        let run = || second_try::count(tests, &with_times(program, &harness));
        results.add(&phase(format!("tests on daemons: {}", program.name), run)?);
    }
    Ok(results)
}

/// The arguments for tests with `filter` in their name, but with none of these words. Says why those are skipped, and
/// counts them.
fn without<'a>(
    programs: &[&TestProgram],
    left_out: &[(&'a str, &str)],
    filter: Option<&'a str>,
    results: &mut Results,
) -> Result<Vec<&'a str>> {
    for (word, why) in left_out {
        say(format!("tests with {word} in their name are skipped: {why}"));
        for program in programs {
            let tests = program.tests()?;
            let is_left_out =
                |test: &&str| test.contains(word) && filter.is_none_or(|filter| test.contains(filter));
            results.skip(tests.iter().map(String::as_str).filter(is_left_out));
        }
    }
    Ok(left_out.iter().flat_map(|(word, _)| ["--skip", word]).chain(filter).collect())
}

/// The arguments for a program that tells how long each test takes. The one with a harness of its own does not.
pub fn with_times<'a>(program: &TestProgram, harness: &[&'a str]) -> Vec<&'a str> {
    let times = (program.name != "faults").then_some(["-Zunstable-options", "--report-time"]);
    times.into_iter().flatten().chain(harness.iter().copied()).collect()
}

/// Runs programs without daemons, as many at a time as there are processors.
fn beside_each_other(programs: &[&TestProgram], harness: &[&str]) -> Result<Results> {
    let next = Mutex::new(programs.iter());
    let results = Mutex::new(Results::default());
    let work = || -> Result<()> {
        while let Some(program) = { next.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            let mut tests = program.command();
            let output = without_traces(tests.args(harness).stdin(Stdio::null())).output()?;
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            say(program.path.display().to_string());
            let mut own = Results::default();
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                println!("{line}");
                own.read(line);
            }
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            own.read_status(output.status);
            results.add(&own);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a panic")))
    })?;
    Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The number of tests on daemons that run at a time. It exceeds the number of cores, because these tests
/// mostly wait.
pub fn threads() -> String {
    (3 * processors()).clamp(3, 12).to_string()
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
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

pub fn count(tests: Command) -> Result<Results> {
    watch(tests, str::to_owned)
}

/// Runs tests, shows each line of their output as `shown` returns it, and counts results.
pub fn watch(mut tests: Command, shown: impl Fn(&str) -> String) -> Result<Results> {
    let mut child = without_traces(&mut tests)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run the tests")?;
    let output = child.stdout.take().context("the tests have no output")?;
    let mut results = Results::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{}", shown(&line));
        results.read(&line);
    }
    results.read_status(child.wait()?);
    Ok(results)
}

/// The text of an error names its origin. A stack trace of the test would hide it.
fn without_traces(tests: &mut Command) -> &mut Command {
    match std::env::var_os("RUST_LIB_BACKTRACE") {
        None => tests.env("RUST_LIB_BACKTRACE", "0"),
        Some(_) => tests,
    }
}
