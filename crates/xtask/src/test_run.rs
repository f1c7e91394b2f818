//! The tests of this machine.

use std::{process::Stdio, sync::Arc};

use anyhow::Result;
use testbed::{compose, say};

use crate::{
    kubernetes, layout,
    pool::{self, Program, Work},
    results::{Results, Table},
    run,
    test_programs::{self, TestProgram},
};

/// The programs of the tests that start real daemons, which need root.
const ON_DAEMONS: [&str; 4] = ["clusters", "e2e", "faults", kubernetes::TESTS];

/// Tests whose name contains one of these give a second slurmctld a host name of its own, or mount a small
/// disk.
const NEED_CAPABILITY: [&str; 2] = ["_backup_", "_full_at_"];

/// The seeds that the recovery simulation plays at one commit. The next commit plays other ones.
pub const SEEDS: u64 = 40;

/// Runs the tests without daemons whose name contains `filter`: one process for each program, and the examples in the
/// documentation. The recovery simulation plays this number of seeds.
pub fn without_daemons(
    programs: &[TestProgram],
    filter: Option<&str>,
    row: &str,
    seeds: u64,
    table: &mut Table,
) -> Result<()> {
    let left_out = (!layout::may_test()).then_some(layout::TESTS);
    if let Some(word) = left_out {
        say(format!(
            "tests with {word} in their name are skipped: no dpkg-source here (`cargo xtask ci` installs it)"
        ));
    }
    let seeds = format!("{} {seeds}", seeds * run::commit_number()?);
    let mut works = Vec::new();
    for program in programs.iter().filter(|program| !program.is_end_to_end()) {
        let is_left_out = |test: &String| left_out.is_some_and(|word| test.contains(word));
        table.add(row, &Results::skipped(program.tests(filter)?.into_iter().filter(is_left_out)));
        let harness: Vec<_> = left_out.into_iter().flat_map(|word| ["--skip", word]).chain(filter).collect();
        let command = program.with("SIMULATION_SEEDS", &*seeds).in_pool();
        works.push(Work::tests(row, &command, &program.name, &harness));
    }
    let examples: Program = Arc::new(|harness| {
        let mut examples = run::cargo_command(&["test", "--doc", "--workspace", "--no-fail-fast"]);
        examples.args(test_programs::FAILPOINTS).arg("--").args(harness);
        examples
    });
    works.push(Work::tests(row, &examples, "examples in documentation", filter.as_slice()));
    pool::run(works, pool::processors(), table)
}

/// The tests on daemons whose name contains `filter`. Those with one of the words of `skipped` in their name are
/// skipped, for the reason beside it.
pub fn on_daemons(
    programs: &[TestProgram],
    filter: Option<&str>,
    skipped: &[(&str, &str)],
    row: &str,
    table: &mut Table,
) -> Result<Vec<Work>> {
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
    if !kubernetes_testbed::may_have_nodes() {
        left_out.push(("k8s_", "no control groups of version 1 here, which the kubelets need"));
    }
    for (word, why) in &left_out {
        say(format!("tests with {word} in their name are skipped: {why}"));
    }
    let mut works = Vec::new();
    for name in ON_DAEMONS {
        let program = test_programs::end_to_end(programs, name)?;
        let is_left_out = |test: &String| left_out.iter().any(|(word, _)| test.contains(word));
        let (skipped, tests): (Vec<_>, Vec<_>) = program.tests(filter)?.into_iter().partition(is_left_out);
        table.add(row, &Results::skipped(skipped));
        let command = program.in_pool_as_root();
        works.extend(tests.iter().map(|test| Work::test(row, &command, test)));
    }
    Ok(works)
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
