//! The commands of docs/accounting.md.

use anyhow::{Result, ensure};
use testbed::{Cluster, page, wait_until};

use super::{add_root, enforcing, limit, sacctmgr};
use crate::LIMIT;
use crate::jobs::{ipus, let_go, running, runs, waits};

const PAGE: &str = include_str!("../../../docs/accounting.md");

/// The commands of the page that begin with one of these words, in their order.
pub(super) fn commands(programs: &[&str]) -> Vec<String> {
    let is_one = |line: &String| programs.iter().any(|program| line.starts_with(&format!("{program} ")));
    page::code_outside_sentences(PAGE).filter(is_one).collect()
}

/// Runs a command of the page with the names of this cluster.
pub(super) fn run(cluster: &Cluster, command: &str) -> Result<String> {
    let command = command.replace("LAB", "root").replace("ALICE", "root");
    let words: Vec<_> = command.split(' ').collect();
    let output = cluster.command(words[0]).args(&words[1..]).output()?;
    // sacctmgr ends with 1 if a value is set already.
    let is_done = output.code == 0 || output.stdout.contains("Nothing modified");
    ensure!(is_done, "{command}: {output:?}");
    Ok(output.stdout)
}

#[test]
fn acct_page_commands_are_taken_by_slurm() -> Result<()> {
    enforcing().slurm_conf("PriorityType=priority/multifactor").run(|cluster| {
        add_root(cluster, &["normal"])?;
        let job = running(cluster, 16, &[])?;
        // slurmdbd gets the job a moment after its start.
        wait_until("the job in the database", LIMIT, || {
            Ok(cluster
                .command("sacct")
                .args(&["-Xn", "-oalloctres%90"])
                .success()?
                .stdout
                .contains("gres/vipu"))
        })?;
        let reports = commands(&["sacct", "sreport", "sshare", "scontrol show"]);
        ensure!(reports.len() == 7, "{reports:?}");
        for report in reports {
            let shown = run(cluster, &report)?;
            ensure!(!shown.trim().is_empty(), "{report} shows nothing");
            let has_list = ["sacct", "sshare"].iter().any(|program| report.starts_with(program));
            ensure!(!has_list || shown.contains("gres/vipu:pod64="), "{report} shows no IPUs: {shown}");
            ensure!(!report.starts_with("scontrol") || shown.contains("gres/vipu=N(16)"), "{shown}");
        }
        let_go(cluster, job)?;
        let changes = commands(&["sacctmgr"]);
        ensure!(changes.len() == 12, "{changes:?}");
        changes.iter().try_for_each(|change| run(cluster, change).map(drop))
    })
}

#[test]
fn acct_page_surplus_is_preempted_and_quota_is_not() -> Result<()> {
    let settings = enforcing().slurm_conf("PreemptType=preempt/qos").slurm_conf("PreemptMode=REQUEUE");
    settings.run(|cluster| {
        add_root(cluster, &["normal", "besteffort"])?;
        sacctmgr(cluster, &["modify", "qos", "besteffort", "set", "UsageFactor=0"])?;
        sacctmgr(cluster, &["modify", "qos", "normal", "set", "Preempt=besteffort"])?;
        limit(cluster, "normal", "MaxTRESPerUser=gres/vipu=32")?;
        let surplus = running(cluster, 64, &["-qbesteffort", "--requeue"])?;
        let quota = ipus(cluster, 32, 10, &["-qnormal"])?;
        runs(cluster, quota)?;
        let above = ipus(cluster, 16, 10, &["-qnormal"])?;
        waits(cluster, above, "QOSMaxGRESPerUser")?;
        let_go(cluster, quota)?;
        runs(cluster, above)?;
        let_go(cluster, above)?;
        ensure!(cluster.job(surplus)?.restarts == 1, "the surplus was not requeued once");
        Ok(())
    })
}
