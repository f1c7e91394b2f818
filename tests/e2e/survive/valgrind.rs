//! The life of jobs under valgrind. It is slow, so only `cargo xtask valgrind` runs it.

use std::{env, fs};

use anyhow::{Context, Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{Cluster, main_job};

use crate::jobs::{cancel, restart_slurmctld, waits};
use crate::{LIMIT, let_go, quick, stay};

const OURS: [&str; 2] = ["select_vipu.so", "vipu_slurmctld.so"];

#[test]
#[ignore = "it wants slurmctld to be run by valgrind: cargo xtask valgrind"]
fn fault_valgrind_finds_no_error_of_ours() -> Result<()> {
    let logs = env::var_os("VALGRIND_LOGS").context("VALGRIND_LOGS names no folder")?;
    quick().vipu_conf("CreateTimeout=3").expect_log("link training").run(lives)?;
    let mut summaries = 0;
    for log in fs::read_dir(logs)? {
        let text = fs::read_to_string(log?.path())?;
        let found = errors_of_ours(&text);
        ensure!(found.is_empty(), "{} errors, the first: {}", found.len(), found[0]);
        summaries += text.matches("ERROR SUMMARY").count();
    }
    ensure!(summaries > 0, "valgrind has watched nothing to its end");
    Ok(())
}

/// Takes jobs and slurmctld through their usual events.
fn lives(cluster: &Cluster) -> Result<()> {
    main_job::sbatch(cluster, 16)?;
    main_job::srun(cluster, 4)?;
    let refused = cluster.sbatch_command("true", &["--gres=vipu:pod64:3"])?.output()?;
    ensure!(refused.code != 0);
    let running = stay(cluster, 32)?;
    let waiting = cluster.sbatch("true", &["--gres=vipu:pod64:64"])?;
    waits(cluster, waiting, "32 free")?;
    cancel(cluster, waiting)?;
    cluster.reconfigure()?;
    cluster.scontrol(&["requeue", &running.to_string()])?;
    cluster
        .await_job(running, "to run again", 3 * LIMIT, |job| job.restarts == 1 && job.state == "RUNNING")?;
    cluster.await_saved()?;
    restart_slurmctld(cluster)?;
    let_go(cluster)?;
    cluster.await_end(running, LIMIT)?;
    cluster.mock().inject(Fault::new(Effect::CreateError { text: "link training".into() }))?;
    let failing = cluster.sbatch("true", &["--gres=vipu:pod64:1"])?;
    cluster.await_job(failing, "to be held", LIMIT, |job| !job.system_comment.is_empty())?;
    cluster.mock().clear()?;
    cancel(cluster, failing)?;
    main_job::sbatch(cluster, 1)?;
    restart_slurmctld(cluster)
}

/// Returns valgrind's reports about our objects. A report is ours if the innermost function on its stack,
/// apart from those of libc and valgrind, is in one of our objects.
fn errors_of_ours(log: &str) -> Vec<String> {
    let line = |line: &str| line.split_once("== ").map_or("", |(_, text)| text).to_owned();
    let lines: Vec<_> = log.lines().map(line).collect();
    let reports = lines.split(String::is_empty).filter(|report| is_ours(report));
    reports.map(|report| report.join("\n")).collect()
}

fn is_ours(report: &[String]) -> bool {
    let mut frames = report.iter().filter(|line| line.contains("   at 0x") || line.contains("   by 0x"));
    // valgrind knows the source lines of libc, so libc's functions have no "(in".
    let innermost = frames.find(|line| line.contains("(in ") && !line.contains("vgpreload_"));
    innermost.is_some_and(|frame| OURS.iter().any(|object| frame.contains(object)))
}

#[test]
fn a_report_belongs_to_the_code_that_made_the_error() {
    let report = |first: &str, second: &str| {
        format!(
            "==7== Invalid read of size 8\n==7==    at 0x1: memmove (vg_replace.c:1)\n==7==    by 0x2: a (in {first})\n\
             ==7==    by 0x3: b (in {second})\n==7==  Address 0x0 is not stack'd\n==7== \n"
        )
    };
    let (ours, theirs) = ("/x/plugins/vipu_slurmctld.so", "/x/select_cons_tres.so");
    assert_eq!(errors_of_ours(&report(ours, theirs)).len(), 1);
    assert_eq!(errors_of_ours(&report(theirs, ours)).len(), 0);
    assert_eq!(errors_of_ours("==7== Command: /x/plugins/vipu_slurmctld.so\n").len(), 0);
}
