//! The site's Prolog.

use crate::facts::Facts;
use crate::finding::Finding;

/// Prolog hears slurmctld of a job's IPUs.
pub(super) fn variables(facts: &Facts) -> Vec<Finding> {
    let slurm = &facts.slurm;
    // If the release is not known, a flag has the meaning that it has in the newest.
    let release = facts.plugins.release.map_or(u32::MAX, |release| release.0);
    if !slurm.conf.prolog_hears_srun(release) {
        return Vec::new();
    }
    let what = "where srun starts a job's first step on a node, Prolog has the SPANK_ variables that srun sends, not those \
                of slurmctld: none of the job's IPUs, or forged ones";
    let others = slurm.value("PrologFlags").map(|flags| format!("{flags},")).unwrap_or_default();
    vec![Finding::warning(slurm.place("Prolog"), what, format!("write PrologFlags={others}Alloc"))]
}
