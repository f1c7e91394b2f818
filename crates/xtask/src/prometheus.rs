//! Tests the exporter, the alert rules and the dashboard with a real Prometheus.

use anyhow::Result;
use testbed::programs;

use crate::test_programs::{self, TestProgram};
use crate::{needed_packages, run};

/// The programs of the package, and the variables by which tests find them.
const PROGRAMS: [(&str, &str); 2] = [("prometheus", "PROMETHEUS"), ("promtool", "PROMTOOL")];

/// Runs the tests. Where Prometheus is missing, its package is unpacked and not installed, so that its
/// service does not start.
pub fn run(tests: &[TestProgram]) -> Result<()> {
    let mut tests = test_programs::end_to_end(tests, "prometheus")?.command();
    if PROGRAMS.iter().any(|(program, _)| programs::find(program).is_err()) {
        let folder = needed_packages::unpack("prometheus", "the tests let it scrape the exporter")?;
        tests.envs(PROGRAMS.map(|(program, variable)| (variable, folder.join("usr/bin").join(program))));
    }
    run::visibly(tests)
}
