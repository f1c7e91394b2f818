//! `cargo xtask test --matrix`: the end-to-end tests on the Slurm of every Debian suite, with the same plugin files.
//!
//! The plugins and the tests are built once, on this machine, and copied. The image of each suite runs these
//! copies in one container. Then whole clusters of containers are started for the tests that need more than
//! one host.

use std::{path::Path, process::Command, thread};

use anyhow::{Result, bail, ensure};
use slurm_release::Version;
use testbed::{compose, programs, say};

use crate::{
    every_release,
    image::{self, Suite},
    phases::phase,
    results::{Results, Table},
    second_try,
    test_programs::{self, TestProgram},
    test_run,
};

/// The folder of the built files in the containers.
const INSIDE: &str = "/opt/vipu";

const E2E: &str = "e2e";

/// Files of `tests/e2e` that run in no container, because they would take minutes for each release, do not depend on
/// it, or need programs that the images lack. `matrix_job_kinds` covers the differences between releases.
const ON_THIS_MACHINE_ONLY: [&str; 23] = [
    "account::page::",
    "deliver::containers::",
    "reuse::makespan::",
    "see::status_cost::",
    "see::status_document::",
    "see::when::",
    "change::requeues::",
    "change::resizes::",
    "change::suspends::",
    "change::time_limits::",
    "change::updated_requests::",
    "share::two_slurm_clusters::",
    "site::",
    "start::arrays::",
    "start::dependencies::",
    "start::het_jobs::",
    "start::page_examples::",
    "survive::controllers_by_other_hands::",
    "survive::killed_srun_and_salloc::",
    "survive::maintenance_page::",
    "survive::nodes::",
    "survive::unclean_ends::",
    "wait::scheduling_cost::",
];

/// The test of an upgrade of Slurm, and the suites from which and to which it goes. It runs on the first one only.
const SLURM_UPGRADE: (&str, Suite, Suite) = ("pkg_slurm_upgrade", Suite::Trixie, Suite::Forky);

/// The test of docs/docker.md. Nothing on the page depends on Slurm's release, and its many commands take minutes: it runs
/// where the upgrade does.
const DOCKER_PAGE: &str = "matrix_docker_page";

/// The group in which a fault of a suite, but of none of its tests, counts as a failure.
const OF_SUITE: &str = "matrix_";

/// The tests that run.
#[derive(Clone, Copy)]
pub enum Selection<'a> {
    All,
    /// Those whose name contains this.
    Named(&'a str),
    /// The part of the end-to-end tests for the commit with this number, and all others.
    AtCommit(u64),
}

impl<'a> Selection<'a> {
    fn filter(self) -> Option<&'a str> {
        match self {
            Self::Named(name) => Some(name),
            Self::All | Self::AtCommit(_) => None,
        }
    }
}

/// Runs all kinds of tests on these suites, and adds the results to `table`. If the tests on one host are `done` for a
/// release, only the tests on several hosts run there.
pub fn run(
    suites: &[Suite],
    tests: Selection<'_>,
    done: Option<Version>,
    mirror: &str,
    table: &mut Table,
) -> Result<()> {
    compose::find_engine()?;
    compose::find_compose()?;
    let [e2e, faults, matrix] = [E2E, "faults", "matrix"].map(test_programs::end_to_end);
    let (inside, matrix) = ([e2e?, faults?], matrix?);
    let files = image::stage()?;
    for program in &inside {
        image::stage_file(&program.path, &files.join("bin").join(&program.name))?;
    }
    let known = make_images(suites, mirror, table)?;
    if suites.contains(&SLURM_UPGRADE.1) && !suites.contains(&SLURM_UPGRADE.2) {
        image::build(SLURM_UPGRADE.2, mirror)?;
    }
    let inside_one = |(suite, slurm): &(Suite, Version)| {
        let programs = if done == Some(*slurm) { &[] } else { &inside[..] };
        on_one_host(*suite, &files, programs, tests)
    };
    let on_clusters =
        |(suite, _): &(Suite, Version)| on_several_hosts(*suite, &files, &matrix, tests.filter());
    // The tests on clusters mostly wait, so the others run beside them.
    let (on_clusters, inside_one) = thread::scope(|scope| {
        let on_clusters = scope.spawn(|| known.iter().map(on_clusters).collect::<Result<Vec<_>>>());
        let inside_one = known.iter().map(inside_one).collect::<Result<Vec<_>>>();
        (on_clusters.join().unwrap_or_else(|_| bail!("a panic")), inside_one)
    });
    for (((_, slurm), mut results), on_clusters) in known.iter().zip(inside_one?).zip(on_clusters?) {
        results.add(&on_clusters);
        table.add(format!("{slurm} in containers"), results);
    }
    Ok(())
}

/// Makes the image of each suite. Returns the suites whose Slurm is known, and counts others as failed.
fn make_images(suites: &[Suite], mirror: &str, table: &mut Table) -> Result<Vec<(Suite, Version)>> {
    let mut known = Vec::new();
    for &suite in suites {
        image::build(suite, mirror)?;
        let slurm = programs::version_shown(&slurm_of(suite)?)?;
        if slurm.known().is_some() {
            known.push((suite, slurm));
        } else {
            let (debian, how) = (suite.name(), "measure it with `cargo xtask layout`");
            say(format!("Debian {debian} now has Slurm {slurm}, which is not in layouts.json: {how}"));
            let mut results = Results::default();
            results.group(OF_SUITE).failed += 1;
            table.add(format!("{slurm} in containers"), results);
        }
    }
    Ok(known)
}

/// Runs the tests on daemons of one host, in one container.
fn on_one_host(
    suite: Suite,
    files: &Path,
    programs: &[TestProgram],
    tests: Selection<'_>,
) -> Result<Results> {
    let mut results = Results::default();
    let threads = test_run::threads();
    let skipped: Vec<_> = ON_THIS_MACHINE_ONLY.iter().flat_map(|file| ["--skip", file]).collect();
    for program in programs {
        let name = program.name.as_str();
        let mut all = program.tests()?;
        all.retain(|test| !ON_THIS_MACHINE_ONLY.iter().any(|file| test.starts_with(file)));
        let selected = match tests {
            Selection::Named(filter) => vec![filter],
            Selection::AtCommit(number) if name == E2E => {
                [vec!["--exact"], every_release::at_commit(&all, number)].concat()
            }
            Selection::All | Selection::AtCommit(_) => skipped.clone(),
        };
        let harness = [&["--test-threads", &threads], selected.as_slice()].concat();
        let harness = test_run::with_times(program, &harness);
        let run = || second_try::count(|harness| inside(suite, files, name, harness), &harness);
        results.add(&phase(format!("{name} in a container, {}", suite.name()), run)?);
    }
    Ok(results)
}

/// Runs the tests on clusters of containers.
fn on_several_hosts(
    suite: Suite,
    files: &Path,
    matrix: &TestProgram,
    filter: Option<&str>,
) -> Result<Results> {
    // Two clusters run at a time, because the tests in one container run beside them.
    let (upgrade, from, _) = SLURM_UPGRADE;
    let skipped = if suite == from { &[][..] } else { &["--skip", upgrade, "--skip", DOCKER_PAGE] };
    let harness = [&["--test-threads", "2"], skipped].concat().into_iter().chain(filter);
    let harness: Vec<_> = harness.collect();
    phase(format!("clusters of containers, {}", suite.name()), || {
        second_try::count(|harness| driving(suite, files, matrix, harness), &harness)
    })
}

fn container(suite: Suite, files: &Path, options: &[&str], command: &[&str]) -> Command {
    let mount = format!("{}:{INSIDE}:ro", files.display());
    let mut docker =
        image::docker(&["run", "--rm", "--init", "--volume", &mount, "--entrypoint", command[0]]);
    docker.args(options).arg(suite.image()).args(&command[1..]);
    docker
}

fn slurm_of(suite: Suite) -> Result<String> {
    let output = container(suite, Path::new("/var/empty"), &[], &["slurmctld", "-V"]).output()?;
    ensure!(output.status.success(), "the image {} has no slurmctld", suite.image());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program that starts daemons, in one container. `arguments` are the program's.
pub fn inside(suite: Suite, files: &Path, program: &str, arguments: &[&str]) -> Command {
    // The tests need these capabilities: a backup slurmctld needs its own host name, and slurmctld's open
    // files are read.
    let mut options = vec!["--cap-add=SYS_ADMIN", "--cap-add=SYS_PTRACE", "--env=RUST_LIB_BACKTRACE=0"];
    let times = format!("--env={}", test_programs::TELLS_TIMES);
    let plugins = format!("--env=VIPU_PLUGIN_DIR={INSIDE}/plugins");
    let faults = format!("--env=VIPU_FAULTS_DIR={INSIDE}/faults");
    options.extend([times.as_str(), &plugins, &faults, "--env=VIPU_FAULT_CASES=smoke"]);
    let program = format!("{INSIDE}/bin/{program}");
    let command: Vec<_> = [program.as_str()].into_iter().chain(arguments.iter().copied()).collect();
    container(suite, files, &options, &command)
}

/// Runs the tests on clusters of containers. `harness` is for the test harness.
fn driving(suite: Suite, files: &Path, program: &TestProgram, harness: &[&str]) -> Command {
    let mut tests = program.command();
    tests.args(harness).env("SUITE", suite.name()).env("VIPU_FILES", files);
    tests
}

#[cfg(test)]
mod tests {
    #[test]
    fn excluded_test_files_exist() {
        for file in super::ON_THIS_MACHINE_ONLY {
            let path = crate::run::workspace()
                .join("tests/e2e")
                .join(file.trim_end_matches("::").replace("::", "/"));
            assert!(path.is_dir() || path.with_extension("rs").exists(), "{}", path.display());
        }
    }
}
