//! `cargo xtask soak`: load of all kinds, while slurmctld and slurmd are stopped and killed every few seconds.

use anyhow::Result;
use testbed::compose;

use crate::{
    build,
    image::{self, Suite},
    matrix, needed_packages, run,
    test_programs::{self, TestProgram},
};

/// The target of the end-to-end tests. It fails if a job is lost or runs twice.
const SOAK: &str = "soak";

/// The program of the soak, which no test runs.
pub fn program(tests: &[TestProgram]) -> Result<&TestProgram> {
    test_programs::end_to_end(tests, SOAK)
}

/// Runs the soak with these arguments, on the Slurm of this suite or on the installed one.
pub fn run(suite: Option<Suite>, arguments: &[String]) -> Result<()> {
    if suite.is_some() {
        compose::find_engine()?;
    } else {
        needed_packages::install_missing(&needed_packages::SLURM)?;
        needed_packages::install_missing(&needed_packages::ACCOUNTING)?;
    }
    let tests = build::for_tests()?;
    let program = program(&tests)?;
    let Some(suite) = suite else {
        let mut soak = program.command_as_root();
        soak.args(arguments);
        return run::visibly(soak);
    };
    let files = image::stage()?;
    image::stage_file(&program.path, &files.join("bin").join(SOAK))?;
    image::build(suite, image::MIRROR)?;
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    run::visibly(matrix::inside(suite, &files, SOAK, &arguments))
}
