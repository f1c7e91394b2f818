//! The time of a squeue that shows one job.

use anyhow::Result;

use crate::{
    Extent, Row, Target,
    sides::{Side, alternate, settings, with_both},
};

/// The first series whose squeue loads no select plugin of its own.
const LATER: slurm_release::Series = slurm_release::Series::new(25, 5);

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let most = if testbed::programs::slurm_version()?.series() < LATER { 1.05 } else { 1.02 };
    with_both(
        |side| settings(side).nodes(1),
        |both| {
            // Without a job, squeue would load no select plugin.
            for side in [Side::Stock, Side::Ours] {
                both.cluster(side).sbatch("true", &["--hold"])?;
            }
            let measured = alternate(extent.pairs(30), |side| both.cluster(side).answer_time("squeue"))?;
            let row = ("squeue", "squeue with one job, mean of 50", "ms");
            Ok(vec![Row::ratio(row, Target::AtMost(most), &measured, |time| 1e3 * time.as_secs_f64())])
        },
    )
}
