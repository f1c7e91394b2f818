//! The table of utilisation, and of waiting by size.

use crate::slurm::Outcome;
use crate::workload::Workload;

/// The waiting times of the jobs of one size, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waiting {
    pub mean: f64,
    pub p95: i64,
    pub max: i64,
}

impl Waiting {
    /// The waiting times of the jobs of this size, or of all jobs if `size` is `None`.
    pub fn of(outcome: &Outcome, size: Option<u32>) -> Self {
        let jobs = outcome.waited.iter().filter(|waited| size.is_none_or(|size| waited.size == size));
        let mut seconds: Vec<i64> = jobs.map(|waited| waited.seconds).collect();
        seconds.sort_unstable();
        let Some(max) = seconds.last().copied() else { return Self::default() };
        let mean = seconds.iter().sum::<i64>() as f64 / seconds.len() as f64;
        Self { mean, p95: seconds[(seconds.len() - 1) * 95 / 100], max }
    }
}

/// The part of the Pod that was used while jobs were submitted.
pub fn utilisation(outcome: &Outcome, workload: &Workload) -> f64 {
    outcome.used as f64 / (f64::from(workload.ipus) * workload.span() as f64)
}

pub fn head(workload: &Workload) -> String {
    let sizes: Vec<_> = sizes(workload).map(|size| size.to_string()).collect();
    let rule = "---:|".repeat(sizes.len() + 3);
    format!("| wait in hours: mean / p95 / max | used | refused | all | {} |\n|---|{rule}", sizes.join(" | "))
}

pub fn row(name: &str, outcome: &Outcome, workload: &Workload) -> String {
    let columns = [None].into_iter().chain(sizes(workload).map(Some));
    let waits: Vec<_> = columns.map(|size| hours(Waiting::of(outcome, size))).collect();
    let (used, refused) = (100.0 * utilisation(outcome, workload), outcome.refused);
    format!("| {name} | {used:.1} % | {refused} | {} |", waits.join(" | "))
}

fn sizes(workload: &Workload) -> impl Iterator<Item = u32> {
    (0..=workload.ipus.ilog2()).map(|order| 1 << order)
}

fn hours(waiting: Waiting) -> String {
    let [mean, p95, max] = [waiting.mean, waiting.p95 as f64, waiting.max as f64].map(|s| s / 3600.0);
    format!("{mean:.1} / {p95:.1} / {max:.0}")
}
