//! The cost of scheduling in slurmctld, at smoke size.

use anyhow::{Context, Result, ensure};
use testbed::measure::scheduling_cost::{self, Scale, TARGET};

#[test]
fn sched_bench_smoke() -> Result<()> {
    let quantities = scheduling_cost::compare(Scale::SMOKE, |quantities| quantities[0].pairs.len() >= 2)?;
    for quantity in &quantities {
        println!("{} in seconds, ours and stock: {:?}", quantity.name, quantity.pairs);
    }
    // Only processor time counts: times by the clock depend on the other load of the machine.
    let ratio = quantities[0].ratio().context("two pairs have a ratio")?.mean;
    ensure!(ratio <= 10.0 * TARGET, "slurmctld took {ratio:.1} times as long as under the stock selector");
    Ok(())
}
