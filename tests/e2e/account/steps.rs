//! The line of sacct for a partition (`AccountingSteps` in vipu.conf).

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use mock_vipu::{Effect, Fault, Incident};
use testbed::{Cluster, JobId, Settings, wait_until};

use super::restarts::save_usage;
use super::{add_root, enforcing, uses, will_use};
use crate::LIMIT;
use crate::jobs::{cancel, ended, let_go, partition, running, submit, waits};

fn with_lines() -> Settings {
    enforcing().nodes(2).vipu_conf("AccountingSteps=yes")
}

/// State, seconds and exit code of the line of a job's partition in the database.
fn line(cluster: &Cluster, job: JobId) -> Result<[String; 3]> {
    // A requeued job has a record for each run.
    let args = ["-nPD", "-j", &job.to_string(), "-o", "JobName,State,ElapsedRaw,ExitCode"];
    let shown = cluster.command("sacct").args(&args).success()?.stdout;
    let lines = shown.lines().map(|line| line.split('|').collect::<Vec<_>>());
    let lines: Vec<_> = lines.filter(|line| line[0] == partition(job)).collect();
    let [one] = &lines[..] else { bail!("not one line of {}: {shown}", partition(job)) };
    let [_, state, seconds, code] = one[..] else { bail!("{one:?}") };
    Ok([state, seconds, code].map(str::to_owned))
}

fn is_written(cluster: &Cluster, job: JobId, state: &str) -> Result<[String; 3]> {
    let is_so = || Ok(line(cluster, job).is_ok_and(|line| line[0] == state));
    wait_until(&format!("the partition of {job} to be {state} in sacct"), LIMIT, is_so)
        .with_context(|| format!("{:?}", line(cluster, job)))?;
    line(cluster, job)
}

#[test]
fn acct_partition_has_a_line_from_the_start_to_its_removal() -> Result<()> {
    with_lines().remove_time(Duration::from_millis(2500)).run(|cluster| {
        add_root(cluster, &["normal"])?;
        save_usage(cluster)?;
        let job = running(cluster, 16, &["-N2"])?;
        is_written(cluster, job, "RUNNING")?;
        // Another slurmctld writes the end.
        cluster.await_saved()?;
        cluster.kill_slurmctld()?;
        cluster.start_slurmctld()?;
        let_go(cluster, job)?;
        let [_, seconds, code] = is_written(cluster, job, "COMPLETED")?;
        ensure!(seconds.parse::<u64>()? >= 2 && code == "0:0", "{seconds} s, exit code {code}");
        // The line counts for nothing.
        uses(cluster, "normal", 0)
    })
}

#[test]
fn acct_line_tells_that_a_partition_failed() -> Result<()> {
    let text = "no power";
    let settings = with_lines().vipu_conf("MaxRetries=0").vipu_conf("ReconcileInterval=1");
    let settings = settings.vipu_conf("OnPartitionError=kill");
    settings.expect_log(text).expect_log("IPU 0 of ag1 is in error").run(|cluster| {
        add_root(cluster, &["normal"])?;
        cluster.mock().inject(Fault::new(Effect::CreateError { text: text.into() }).times(1))?;
        let never_made = submit(cluster, &["--gres=vipu:pod64:8"])?;
        is_written(cluster, never_made, "FAILED")?;
        waits(cluster, never_made, text)?;
        cancel(cluster, never_made)?;
        let job = running(cluster, 16, &[])?;
        cluster.mock().cause(Incident::IpuFault { agent: "ag1".into(), ipu: 0 })?;
        ended(cluster, job, "FAILED")?;
        let [_, _, code] = is_written(cluster, job, "FAILED")?;
        // The job would have it as DerivedExitCode.
        ensure!(code == "0:0", "{code}");
        will_use(cluster, "normal", 0)
    })
}
