//! Accounting.

use crate::facts::Facts;
use crate::finding::Finding;

/// sacct can show the IPUs of a job.
pub(super) fn tres(facts: &Facts) -> Vec<Finding> {
    let (slurm, key) = (&facts.slurm, "AccountingStorageTRES");
    let has_slurmdbd = slurm.value("AccountingStorageType").is_some_and(|kind| kind.ends_with("slurmdbd"));
    let listed = slurm.value(key).unwrap_or_default().split(',').map(str::trim);
    let has_it = listed.into_iter().any(|tres| tres == "gres/vipu" || tres.starts_with("gres/vipu:"));
    if !has_slurmdbd || has_it {
        return Vec::new();
    }
    let before = slurm.value(key).map(|list| format!("{list},")).unwrap_or_default();
    let what = format!("{key} lacks gres/vipu, so that sacct does not show the IPUs of jobs");
    vec![Finding::hint(slurm.place(key), what, format!("write {key}={before}gres/vipu"))]
}
