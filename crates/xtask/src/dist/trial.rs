//! Tries the packages and the images in containers, by the tests in `tests/packages`.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

use super::images::{self, Names};
use super::{FAST, package};
use crate::image::{self, Suite};
use crate::pool::{self, Work};
use crate::results::Table;
use crate::test_programs::{self, TestProgram};

/// A version below each real one.
const EARLIER: &str = "0.0.9";

/// The tests of packages, with what they need.
pub struct Trial {
    pub works: Vec<Work>,
    /// Packages of an earlier version. They go with this value.
    pub earlier: TempDir,
}

/// Makes the packages of an earlier version of the same objects, and the images, on these suites, whose own images are
/// there.
pub fn prepare(built: &Path, out: &Path, suites: &[Suite], tests: &[TestProgram]) -> Result<Trial> {
    let mut trial = Trial { works: Vec::new(), earlier: tempfile::tempdir()? };
    package(built, EARLIER, FAST, trial.earlier.path())?;
    let program = test_programs::end_to_end(tests, "packages")?;
    for suite in suites {
        image::build_for_packages(*suite)?;
        let tag = format!("trial-{}", suite.name());
        images::make(built, *suite, image::MIRROR, &Names { registry: None, tag: &tag })?;
        let program = program.with("SUITE", suite.name()).with("IMAGES", tag);
        let program = program.with("PACKAGES", out.canonicalize()?.to_string_lossy());
        let program = program.with("EARLIER_PACKAGES", trial.earlier.path().to_string_lossy());
        let (row, command) = (format!("packages, {}", suite.name()), program.in_pool());
        trial.works.extend(program.tests(None)?.iter().map(|test| Work::test(&row, &command, test)));
    }
    Ok(trial)
}

impl Trial {
    pub fn run(self, table: &mut Table) -> Result<()> {
        pool::run(self.works, pool::waiting_processes(), table)
    }
}
