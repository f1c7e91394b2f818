//! `svipu when` and a real slurmctld: a job that is submitted then starts when `svipu when` said. The front end compares
//! both in random states (`crates/frontend/src/status/start_of_new_job_tests.rs`).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use testbed::{Cluster, JobId, wait_until};

use super::steering::steer;
use super::{document, svipu};
use crate::LIMIT;
use crate::jobs::{brisk, expected_at, ipus, looked_at, now, running_for, runs};

#[test]
fn cli_when_is_the_start_that_slurm_gives_the_job() -> Result<()> {
    brisk().run(|cluster| {
        let first = running_for(cluster, 32, 60, &[])?;
        let whole = ipus(cluster, 64, 30, &[])?;
        shown(cluster, &[first], &[whole])?;
        let told = when(cluster, 32, 90)?.context("the start is unknown")?;
        let later = ipus(cluster, 32, 90, &[])?;
        expected_at(cluster, later, told)?;

        shown(cluster, &[first], &[whole, later])?;
        let asked = now()?.as_secs();
        let told = when(cluster, 16, 20)?.context("the start is unknown")?;
        let at_once = ipus(cluster, 16, 20, &[])?;
        runs(cluster, at_once)?;
        let start = cluster.start_of(at_once)?.context("squeue shows no start")?;
        ensure!(asked <= told && told <= start, "asked at {asked}, told {told}, started at {start}");

        steer(cluster, &["drain", "pod64", "--reason", "test"])?;
        wait_until("the drain in the document", LIMIT, || {
            Ok(document(cluster)?.is_some_and(|status| !status.drains.is_empty()))
        })?;
        ensure!(when(cluster, 16, 20)?.is_none(), "a start on drained IPUs");
        let never = ipus(cluster, 16, 20, &[])?;
        looked_at(cluster, never, 2)?;
        ensure!(cluster.start_of(never)?.is_none(), "squeue shows a start on drained IPUs");
        Ok(())
    })
}

/// The start that `svipu when` tells.
fn when(cluster: &Cluster, ipus: u32, minutes: u32) -> Result<Option<u64>> {
    let state = cluster.layout().state().display().to_string();
    let job = [format!("--ipus={ipus}"), format!("-t{minutes}")];
    let args = ["when", "--json", "--status", &state, &job[0], &job[1]];
    let answers: serde_json::Value = serde_json::from_str(&svipu(cluster, &args)?)?;
    ensure!(answers[0]["refused"].is_null(), "{answers}");
    Ok(answers[0]["at"].as_u64())
}

/// Waits until the document has these running jobs, with their ends, and these waiting jobs.
fn shown(cluster: &Cluster, running: &[JobId], waiting: &[JobId]) -> Result<()> {
    let end = |job: &JobId| Ok((job.0, Some(cluster.end_of(*job)?.cast_signed())));
    let running = running.iter().map(end).collect::<Result<BTreeMap<_, _>>>()?;
    let waiting: BTreeSet<_> = waiting.iter().map(|job| job.0).collect();
    wait_until("the jobs in the document", LIMIT, || {
        let Some(status) = document(cluster)? else { return Ok(false) };
        let in_line = status.line.iter().filter_map(|it| Some(it.job.as_deref()?.id));
        let on_ipus = status.partitions.iter().filter_map(|it| Some((it.job.as_deref()?.id, it.ends)));
        Ok(in_line.collect::<BTreeSet<_>>() == waiting && on_ipus.collect::<BTreeMap<_, _>>() == running)
    })
}
