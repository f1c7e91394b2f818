//! A second try for tests on daemons.
//!
//! A run starts about 2,000 daemons on few cores. Now and then a daemon is so late that a test's limit
//! passes, or Slurm itself loses a race. A few failed tests are therefore tried again, one at a time. The end
//! of the run names the tests that pass then, so that a repeated failure is noticed.

use std::process::Command;

use anyhow::Result;
use testbed::say;

use crate::{results::Results, test_run};

/// The largest number of failures that are tried again. More of them are no accident.
const ACCIDENTS: usize = 8;

/// Runs the command that `tests` makes of arguments to the test harness, and tries a few failed tests again.
pub fn count(tests: impl Fn(&[&str]) -> Command, harness: &[&str]) -> Result<Results> {
    let not_yet = |line: &str| line.replace(" ... FAILED", " ... not passed");
    let mut results = test_run::watch(tests(harness), not_yet)?;
    let failed = results.failed.clone();
    if (1..=ACCIDENTS).contains(&failed.len()) {
        say(format!("a second try of {}", failed.join(", ")));
        let mut again = Results::default();
        // The fault matrix takes one name at a time.
        for test in &failed {
            again.add(&test_run::count(tests(&["--exact", "--test-threads", "1", test]))?);
        }
        if again.total().passed + again.total().failed == u64::try_from(failed.len())? {
            results.replace_failed(&again);
            return Ok(results);
        }
    }
    failed.iter().for_each(|name| println!("test {name} ... FAILED"));
    Ok(results)
}
