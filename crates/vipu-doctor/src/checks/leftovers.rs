//! What the vendor's ways of using IPUs under Slurm left behind.

use crate::facts::{Facts, Leftover};
use crate::finding::Finding;

/// Nothing else makes partitions, tells programs of partitions, or keeps Slurm from starting.
pub(super) fn scripts(facts: &Facts) -> Vec<Finding> {
    facts.leftovers.iter().map(finding).collect()
}

fn finding(leftover: &Leftover) -> Finding {
    match leftover {
        Leftover::Script { key, place, path, word } => {
            let what = format!(
                "{key} {} has {word}: it makes partitions or names one beside slurm-vipu",
                path.display()
            );
            Finding::warning(place, what, "remove the part about IPUs from the script, or the line")
        }
        Leftover::SubmitScript(path, word) => {
            let what = format!("it has {word}: it may change requests for IPUs before slurm-vipu sees them");
            Finding::warning(path.display().to_string(), what, "remove the part about IPUs from the script")
        }
        Leftover::Key { key, place } if key.eq_ignore_ascii_case("VipuIpuofDir") => {
            let what = "stock Slurm refuses VipuIpuofDir, which the vendor's plugin had";
            Finding::error(place, what, "move the line to vipu.conf")
        }
        Leftover::Key { key, place } => {
            let what = format!("stock Slurm refuses {key}");
            Finding::error(place, what, "remove the line; docs/configuration.md has the keys of vipu.conf")
        }
        Leftover::Allocations(path) => {
            let what =
                "it maps hosts to IPU-Machines for the vendor's scripts, and slurm-vipu does not read it";
            Finding::hint(path.display().to_string(), what, "remove it when no script uses it")
        }
    }
}
