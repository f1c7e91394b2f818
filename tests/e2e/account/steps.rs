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
        fits_programs(cluster, job)?;
        // The line counts for nothing.
        uses(cluster, "normal", 0)
    })
}

/// Checks what programs read of each step: reportseff, firecrest, and those that take a step by its number or JSON.
fn fits_programs(cluster: &Cluster, job: JobId) -> Result<()> {
    let of_job = [
        "-nP",
        "-j",
        &job.to_string(),
        "-o",
        "JobID,JobName,NTasks,NNodes,NCPUS,ExitCode,NodeList,Start,End",
    ];
    let shown = cluster.command("sacct").args(&of_job).success()?.stdout;
    let mut steps = 0;
    for fields in shown.lines().map(|line| line.split('|').collect::<Vec<_>>()) {
        let [id, name, tasks, nodes, cpus, code, hosts, start, end] = fields[..] else { bail!("{shown}") };
        let Some((_, number)) = id.split_once('.') else { continue };
        steps += 1;
        ensure!(tasks.parse::<u32>().is_ok() && nodes.parse::<u32>().is_ok(), "{shown}");
        ensure!(cpus.parse::<u32>().is_ok() && code == "0:0" && start <= end, "{shown}");
        ensure!((name == partition(job)) == (number == "4294967279") && !hosts.is_empty(), "{shown}");
    }
    ensure!(steps == 2, "{shown}");
    let one = ["-nP", "-j", &format!("{job}.4294967279"), "-o", "JobName"];
    let one = cluster.command("sacct").args(&one).success()?.stdout;
    ensure!(one.trim() == partition(job), "{one}");
    let json = cluster.command("sacct").args(&["--json", "-j", &job.to_string()]).success()?.stdout;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    let steps = json["jobs"][0]["steps"].as_array().context("no steps")?;
    ensure!(steps.iter().any(|step| step["step"]["name"] == *partition(job)), "{json}");
    Ok(())
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
