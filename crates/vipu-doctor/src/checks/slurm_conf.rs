//! slurm.conf as a text.

use std::collections::BTreeMap;

use slurm_conf::{HostList, Named};

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

/// Each node is in one line.
pub(super) fn nodes(facts: &Facts) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut again = |line: Named| {
        let names = HostList::parse(&line.name).ok()?;
        // All names of the line are noted.
        let found: Vec<_> = names
            .names()
            .filter_map(|name| Some((name.clone(), first.insert(name, line.place.clone())?)))
            .collect();
        let (name, place) = found.into_iter().next()?;
        let what = format!("node {name} is also in {}", short(&place));
        let fix = "join the lines of the node; slurmctld does not start with two";
        Some(Finding::error(short(&line.place), what, fix))
    };
    facts.slurm.conf.nodes().into_iter().filter_map(&mut again).collect()
}
