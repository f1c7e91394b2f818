//! slurm.conf as a text.

use crate::facts::{Facts, short};
use crate::finding::Finding;

/// Slurm takes every line.
pub(super) fn lines(facts: &Facts) -> Vec<Finding> {
    let finding = |problem: &slurm_conf::Problem| {
        Finding::error(
            short(&problem.place),
            problem.reason.to_string(),
            "mend the line; slurmctld does not start with it",
        )
    };
    facts.slurm.conf.problems.iter().map(finding).collect()
}
