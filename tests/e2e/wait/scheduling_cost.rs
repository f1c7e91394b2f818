//! What scheduling costs slurmctld, at smoke size, and what a submit does.

use anyhow::{Context, Result, ensure};
use testbed::cost::{self, Scale, TARGET};
use testbed::submit_cost;

#[test]
fn sched_bench_smoke() -> Result<()> {
    let quantities = cost::compare(Scale::SMOKE, |quantities| quantities[0].pairs.len() >= 2)?;
    for quantity in &quantities {
        println!("{} in seconds, ours and stock: {:?}", quantity.name, quantity.pairs);
    }
    // What the clock on the wall shows depends on what else the machine does.
    let ratio = quantities[0].ratio().context("two pairs have a ratio")?.mean;
    ensure!(ratio <= 10.0 * TARGET, "slurmctld took {ratio:.1} times as long as under the stock selector");
    Ok(())
}

#[test]
fn user_submit_takes_no_fifth_of_lua() -> Result<()> {
    let timed = submit_cost::measure(3)?;
    for first in &timed {
        // What else the machine does falls on both sides, but not evenly: the best of three is what there is to it.
        let same = timed.iter().filter(|one| one.request == first.request);
        let ratio = same.map(submit_cost::Timed::ratio).fold(f64::INFINITY, f64::min);
        ensure!(ratio <= submit_cost::TARGET, "{}: {ratio:.3}: {timed:?}", first.outcome);
    }
    Ok(())
}
