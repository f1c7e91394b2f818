//! The time of a quiet squeue.

use anyhow::Result;

use crate::{
    Extent, Row, Target,
    row::Scale,
    sides::{alternate, pairs, settings, with_both},
};

/// The first series whose squeue loads no select plugin of its own.
const LATER: slurm_release::Series = slurm_release::Series::new(25, 5);

pub(crate) fn measure(extent: Extent) -> Result<Vec<Row>> {
    let most = if testbed::programs::slurm_version()?.series() < LATER { 1.05 } else { 1.02 };
    with_both(
        |side| settings(side).nodes(1),
        |both| {
            let measured = alternate(extent.of(30, 1), |side| both.cluster(side).answer_time("squeue"))?;
            let pairs = pairs(&measured, |time| 1e3 * time.as_secs_f64());
            let (name, what) = ("squeue", "squeue of an idle cluster, mean of 50");
            let target = Target::AtMost(most);
            Ok(vec![Row { name, what, unit: "ms", scale: Scale::Ratio, target, pairs }])
        },
    )
}
