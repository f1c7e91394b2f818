//! gres.conf.

use crate::facts::{Facts, GresLine};
use crate::finding::Finding;

/// IPUs are no devices of a node, so that gres.conf says nothing about them.
pub(super) fn lines(facts: &Facts) -> Vec<Finding> {
    facts.gres_lines.iter().map(finding).collect()
}

fn finding(line: &GresLine) -> Finding {
    let fix = "remove the line; IPUs need none";
    match &line.devices {
        Some(files) => {
            let what = format!("File={files} says that IPUs are devices of the node, which they are not");
            Finding::error(&line.place, what, fix)
        }
        None if line.is_count_only => {
            let what = "CountOnly keeps Slurm from loading gres_vipu.so, so that nothing checks the node";
            Finding::warning(&line.place, what, fix)
        }
        None => Finding::hint(&line.place, "it is about vipu, which Gres= in slurm.conf says already", fix),
    }
}
