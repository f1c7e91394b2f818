//! The cost of scheduling: the table of docs/scheduling.md, and the gate.

use anyhow::Result;

use crate::{results::Results, run, test_run};

/// The prefix of the names of the gate's tests.
const TESTS: &str = "sched_cost";

/// Prints the table.
pub fn table() -> Result<()> {
    run::cargo(&["bench", "--package", "ledger", "--bench", "cost"])
}

/// Runs the gate's tests whose name contains `filter`. A test fails if it costs ten times its limit. The code
/// is optimised, as it is shipped.
pub fn gate(filter: Option<&str>) -> Result<Results> {
    if filter.is_some_and(|filter| !TESTS.contains(filter) && !filter.contains(TESTS)) {
        return Ok(Results::default());
    }
    let mut bench = run::cargo_command(&["bench", "--package", "ledger", "--bench", "cost", "--", "--gate"]);
    bench.args(filter);
    test_run::count(bench)
}
