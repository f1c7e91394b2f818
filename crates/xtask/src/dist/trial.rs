//! Tries the packages and the images in containers, by the tests in `tests/packages`.

use std::path::Path;

use anyhow::Result;

use super::images::{self, Names};
use super::{FAST, package};
use crate::image::{self, Suite};
use crate::pool::Work;
use crate::run;
use crate::test_programs::{self, TestProgram};

/// A version below each real one.
const EARLIER: &str = "0.0.9";

/// Makes packages of an earlier version of the same objects, and the images, on these suites, whose own images are
/// there. Returns the tests.
pub fn works(built: &Path, out: &Path, suites: &[Suite], tests: &[TestProgram]) -> Result<Vec<Work>> {
    let earlier = run::workspace().canonicalize()?.join("target/earlier-packages");
    package(built, EARLIER, FAST, &earlier)?;
    let (mut works, program) = (Vec::new(), test_programs::end_to_end(tests, "packages")?);
    for suite in suites {
        image::build_for_packages(*suite)?;
        let tag = format!("trial-{}", suite.name());
        images::make(built, *suite, image::MIRROR, &Names { registry: None, tag: &tag })?;
        let program = program.with("SUITE", suite.name()).with("IMAGES", tag);
        let program = program.with("PACKAGES", out.canonicalize()?.to_string_lossy());
        let program = program.with("EARLIER_PACKAGES", earlier.to_string_lossy());
        let (row, command) = (format!("packages, {}", suite.name()), program.in_pool());
        works.extend(program.tests(None)?.iter().map(|test| Work::test(&row, &command, test)));
    }
    Ok(works)
}
