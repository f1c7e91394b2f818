//! Tries the packages and the images in containers, by the tests in `tests/packages`.

use std::path::Path;

use anyhow::Result;

use super::images::{self, Names};
use super::{FAST, package};
use crate::image::{self, Suite};
use crate::results::Table;
use crate::{test_programs, test_run};

/// A version below each real one.
const EARLIER: &str = "0.0.9";

/// Tries the packages in `out`, and upgrades to them from an earlier version of the same objects. Makes the images, and
/// tries them.
pub fn run(built: &Path, out: &Path, suites: &[Suite], table: &mut Table) -> Result<()> {
    let earlier = tempfile::tempdir()?;
    package(built, EARLIER, FAST, earlier.path())?;
    for suite in suites {
        image::build(*suite, image::MIRROR)?;
        image::build_for_packages(*suite)?;
        let tag = format!("trial-{}", suite.name());
        images::make(built, *suite, image::MIRROR, &Names { registry: None, tag: &tag })?;
        let mut tests = test_programs::end_to_end("packages")?.command();
        tests.env("SUITE", suite.name()).env("IMAGES", tag);
        tests.env("PACKAGES", out.canonicalize()?).env("EARLIER_PACKAGES", earlier.path());
        table.add(format!("packages, {}", suite.name()), test_run::count(tests)?);
    }
    Ok(())
}
