//! What scheduling costs: the table of docs/scheduling.md, and the gate.

use anyhow::Result;

use crate::{results::Results, run, test_run};

/// What the names of the gate's tests begin with.
const TESTS: &str = "sched_cost";

/// Prints the table.
pub fn table() -> Result<()> {
    run::cargo(&["bench", "--package", "ledger", "--bench", "cost"])
}

/// Fails what costs ten times what it should. Of tests whose name contains `filter`; optimised, as what is
/// shipped.
pub fn gate(filter: Option<&str>) -> Result<Results> {
    if filter.is_some_and(|filter| !TESTS.contains(filter) && !filter.contains(TESTS)) {
        return Ok(Results::default());
    }
    let mut bench = run::cargo_command(&["bench", "--package", "ledger", "--bench", "cost", "--", "--gate"]);
    bench.args(filter);
    test_run::count(bench)
}
