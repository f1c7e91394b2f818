//! `cargo xtask test --matrix`: the end-to-end tests on the Slurm of every Debian suite, with the same plugin files.
//!
//! The plugins and the tests are built once, on this machine, and copied. One container of each suite runs these copies.
//! Beside it, whole clusters of containers are started for the tests that need more than one host.

use std::{path::Path, process::Command, sync::Arc};

use anyhow::{Result, ensure};
use slurm_release::Version;
use testbed::{programs, say};

use crate::{
    every_release,
    image::{self, Suite},
    pool::{Program, Work},
    results::Table,
    test_programs::{self, TestProgram},
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

/// A container that waits for tests, with its id. It goes with the last test.
struct Container(String);

impl Drop for Container {
    fn drop(&mut self) {
        let _ = image::docker(&["rm", "--force", "--volumes", &self.0]).output();
    }
}

/// The tests of all kinds on these suites, whose images are there. If the tests on one host are `done` for a release, only
/// those on several hosts run there. A suite whose Slurm is unknown counts as failed.
pub fn works(
    suites: &[Suite],
    tests: Selection<'_>,
    done: Option<Version>,
    built: &[TestProgram],
    table: &mut Table,
) -> Result<Vec<Work>> {
    let [e2e, faults, matrix] = [E2E, "faults", "matrix"].map(|name| test_programs::end_to_end(built, name));
    let (inside, matrix) = ([e2e?, faults?], matrix?);
    let files = image::stage()?;
    for program in &inside {
        image::stage_file(&program.path, &files.join("bin").join(&program.name))?;
    }
    let mut works = Vec::new();
    for &suite in suites {
        let slurm = programs::version_shown(&slurm_of(suite)?)?;
        let row = format!("{slurm} in containers");
        if slurm.known().is_none() {
            let (debian, how) = (suite.name(), "measure it with `cargo xtask layout`");
            say(format!("Debian {debian} now has Slurm {slurm}, which is not in layouts.json: {how}"));
            table.add_failure(&row);
            continue;
        }
        if done != Some(slurm) {
            let container = Arc::new(start(suite, &files)?);
            for program in &inside {
                let command = in_container(&container, &program.name);
                let tests = on_one_host(program, tests)?;
                works.extend(tests.iter().map(|test| Work::test(&row, &command, test)));
            }
        }
        let command =
            matrix.with("SUITE", suite.name()).with("VIPU_FILES", files.to_string_lossy()).in_pool();
        let is_of_suite = |test: &&String| {
            suite == SLURM_UPGRADE.1 || !test.contains(SLURM_UPGRADE.0) && !test.contains(DOCKER_PAGE)
        };
        let tests_on_clusters = matrix.tests(tests.filter())?;
        let tests_on_clusters = tests_on_clusters.iter().filter(is_of_suite);
        works.extend(tests_on_clusters.map(|test| Work::cluster(&row, &command, test)));
    }
    Ok(works)
}

/// Makes the images that the tests on these suites need.
pub fn make_images(suites: &[Suite], mirror: &str) -> Result<()> {
    let upgrades = suites.contains(&SLURM_UPGRADE.1) && !suites.contains(&SLURM_UPGRADE.2);
    let all = suites.iter().copied().chain(upgrades.then_some(SLURM_UPGRADE.2));
    all.into_iter().try_for_each(|suite| image::build(suite, mirror))
}

/// The tests of this program that run in a container.
fn on_one_host(program: &TestProgram, tests: Selection<'_>) -> Result<Vec<String>> {
    let mut all = program.with(FAULTS.0, FAULTS.1).tests(tests.filter())?;
    if tests.filter().is_none() {
        all.retain(|test| !ON_THIS_MACHINE_ONLY.iter().any(|file| test.starts_with(file)));
    }
    if let Selection::AtCommit(number) = tests
        && program.name == E2E
    {
        all.retain(|test| every_release::is_of(test, number));
    }
    Ok(all)
}

fn start(suite: Suite, files: &Path) -> Result<Container> {
    // The image lies on a file system that may be slow.
    let options: Vec<_> = TESTS_NEED.into_iter().chain(["--detach", "--volume=/tmp"]).collect();
    let output = container(suite, files, &options, &["sleep", "6h"]).output()?;
    ensure!(
        output.status.success(),
        "no container of {}: {}",
        suite.image(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Container(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
}

/// A program that starts daemons in this container.
fn in_container(container: &Arc<Container>, program: &str) -> Program {
    let (container, program) = (Arc::clone(container), format!("{INSIDE}/bin/{program}"));
    Arc::new(move |harness| {
        let mut docker =
            image::docker(&["exec", &format!("--env={}={}", FAULTS.0, FAULTS.1), &container.0, &program]);
        docker.args(harness);
        docker
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

/// What programs need that start daemons in a container. A backup slurmctld needs its own host name, and slurmctld's open
/// files are read.
const TESTS_NEED: [&str; 5] = [
    "--cap-add=SYS_ADMIN",
    "--cap-add=SYS_PTRACE",
    "--env=RUST_LIB_BACKTRACE=0",
    "--env=VIPU_PLUGIN_DIR=/opt/vipu/plugins",
    "--env=VIPU_FAULTS_DIR=/opt/vipu/faults",
];

/// The selection of the fault matrix in a container.
const FAULTS: (&str, &str) = ("VIPU_FAULT_CASES", "smoke");

/// Runs a program that starts daemons, in a container of its own.
pub fn inside(suite: Suite, files: &Path, program: &str, arguments: &[&str]) -> Command {
    let program = format!("{INSIDE}/bin/{program}");
    let command: Vec<_> = [program.as_str()].into_iter().chain(arguments.iter().copied()).collect();
    container(suite, files, &TESTS_NEED, &command)
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
