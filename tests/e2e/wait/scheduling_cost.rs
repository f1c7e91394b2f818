//! The scoreboard of docs/bench.md still measures, in its smallest form. Machines are noisy, so the test judges no ratio
//! but that of slurmctld's processor time, and that one only far beyond its target.

use anyhow::{Context, Result, ensure};
use scoreboard::{Extent, MEASUREMENTS, Row, Target, table};

#[test]
fn sched_bench_smoke() -> Result<()> {
    let mut rows = Vec::new();
    for measurement in MEASUREMENTS {
        let measured = (measurement.measure)(Extent::Smoke);
        rows.extend(measured.with_context(|| format!("bench {}", measurement.name))?);
    }
    println!("{}", table::lines(&rows));
    for row in &rows {
        let mean = row.estimate().mean;
        ensure!(mean.is_finite(), "the row {} has no value", row.name);
    }
    let scheduling = rows.iter().find(|row| row.name == "scheduling").context("no row of scheduling")?;
    let Row { target: Target::AtMost(target), .. } = scheduling else { anyhow::bail!("it has no target") };
    let ratio = scheduling.estimate().mean;
    ensure!(ratio <= 10.0 * target, "slurmctld took {ratio:.1} times as long as under the stock selector");
    Ok(())
}
