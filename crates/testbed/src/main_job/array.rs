//! A job array that asks for more IPUs than there are.

use std::{collections::BTreeSet, fs, time::Duration};

use anyhow::{Context as _, Result, ensure};

use super::{IpuRun, SHOW, check_run};
use crate::{Cluster, JobId, JobView, wait_until};

const ARRAY_LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct ArrayWatch<T> {
    pub runs: Vec<IpuRun>,
    pub most_at_once: usize,
    /// The reasons that waiting tasks showed. Those that Slurm has not tried yet have none.
    pub reasons: BTreeSet<String>,
    /// What `meanwhile` returned.
    pub meanwhile: T,
}

/// Runs and watches `tasks` tasks of 16 IPUs each. Calls `meanwhile` once, when four tasks have IPUs and
/// others wait. No task ends before that. Fails when more than four tasks have IPUs at once, or no waiting
/// task names IPUs in its reason.
pub fn watch_array<T>(
    cluster: &Cluster,
    tasks: u32,
    meanwhile: impl FnOnce() -> Result<T>,
) -> Result<ArrayWatch<T>> {
    let last = tasks - 1;
    let seen = cluster.layout().jobs().join("seen");
    let script = format!("{SHOW}\nuntil [ -e '{}' ]; do sleep 0.2; done", seen.display());
    let array = format!("--array=0-{last}");
    let first = cluster.sbatch(&script, &["--gres=vipu:pod64:16", &array, "--output=%j.out"])?;
    let array_jobs = || {
        let jobs = cluster.jobs()?.into_iter();
        anyhow::Ok(jobs.filter(|job| job.array == Some(first)).collect::<Vec<_>>())
    };
    let (mut meanwhile, mut done) = (Some(meanwhile), None);
    let mut reasons = BTreeSet::new();
    wait_until(&format!("the {tasks} tasks of array {first}"), ARRAY_LIMIT, || {
        let all = array_jobs()?;
        let with_ipus =
            all.iter().filter(|job| ["CONFIGURING", "RUNNING"].contains(&job.state.as_str())).count();
        ensure!(with_ipus <= 4, "{with_ipus} tasks of 16 IPUs have IPUs at once");
        let waiting: Vec<_> = all.iter().filter(|job| job.state == "PENDING").collect();
        let shown = waiting.iter().map(|job| &job.reason).filter(|reason| *reason != "None");
        reasons.extend(shown.cloned());
        let runs = all.iter().any(|job| job.state == "RUNNING");
        if let Some(meanwhile) = meanwhile.take_if(|_| runs && with_ipus == 4 && !waiting.is_empty()) {
            done = Some(meanwhile()?);
            fs::write(&seen, "")?;
        }
        Ok(all.len() == usize::try_from(tasks)? && all.iter().all(JobView::is_over))
    })?;
    ensure!(reasons.iter().any(|reason| reason.contains("IPU")), "no reason names IPUs: {reasons:?}");
    let ids: BTreeSet<JobId> = array_jobs()?.iter().map(|job| job.id).collect();
    let runs = ids.into_iter().map(|job| check_run(cluster, job, "array", 16, &cluster.job_output(job)));
    let runs: Vec<_> = runs.collect::<Result<_>>()?;
    let most_at_once = most_at_once(cluster, &runs)?;
    ensure!(most_at_once == 4, "{most_at_once} tasks of 16 IPUs had IPUs at once, there is room for four");
    let meanwhile = done.context("no task waited while four had IPUs")?;
    Ok(ArrayWatch { runs, most_at_once, reasons, meanwhile })
}

fn most_at_once(cluster: &Cluster, runs: &[IpuRun]) -> Result<usize> {
    let records: Result<Vec<_>> = runs.iter().map(|run| cluster.mock().record(&run.partition)).collect();
    let records = records?;
    let alive_at = |moment| {
        let begun = records.iter().filter(|record| record.create_request <= moment);
        begun.filter(|record| record.removed.is_none_or(|removed| removed > moment)).count()
    };
    Ok(records.iter().map(|record| alive_at(record.create_request)).max().unwrap_or_default())
}
