//! Accounting.

use crate::facts::Facts;
use crate::finding::Finding;

/// At submit, Slurm compares limits on IPUs with their number times that of the nodes.
pub(super) fn deny_on_limit(facts: &Facts) -> Vec<Finding> {
    let denying = facts.qos.iter().flatten().filter(|qos| qos.denies_ipus);
    let finding = |name: &str| {
        let what = format!(
            "QOS {name} has a limit on gres/vipu and Flags=DenyOnLimit: at submit, Slurm counts the IPUs of a job on \
             several nodes once for each node, and refuses jobs that fit"
        );
        let remedy = format!(
            "run sacctmgr modify qos {name} set Flags-=DenyOnLimit: such jobs then run, or wait with the reason"
        );
        Finding::warning("sacctmgr", what, remedy)
    };
    denying.map(|qos| finding(&qos.name)).collect()
}

/// Slurm counts the IPUs of a job.
pub(super) fn tres(facts: &Facts) -> Vec<Finding> {
    let (slurm, key) = (&facts.slurm, "AccountingStorageTRES");
    let has_slurmdbd = slurm.value("AccountingStorageType").is_some_and(|kind| kind.ends_with("slurmdbd"));
    let listed = slurm.value(key).unwrap_or_default().split(',').map(str::trim);
    let has_it = listed.into_iter().any(|tres| tres == "gres/vipu" || tres.starts_with("gres/vipu:"));
    if !has_slurmdbd || has_it {
        return Vec::new();
    }
    let before = slurm.value(key).map(|list| format!("{list},")).unwrap_or_default();
    let what = format!(
        "{key} lacks gres/vipu, so that Slurm counts no IPUs: not in sacct, limits, billing and reports"
    );
    vec![Finding::hint(slurm.place(key), what, format!("write {key}={before}gres/vipu"))]
}
