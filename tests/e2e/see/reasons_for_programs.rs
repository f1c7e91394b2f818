//! The reasons of slurm-vipu that programs read in squeue.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use mock_vipu::{Effect, Fault};
use testbed::{JobView, wait_until};

use crate::LIMIT;
use crate::jobs::{cancel, roomy, staying};

/// The page with the list.
const PAGE: &str = include_str!("../../../docs/messages.md");

/// Whether the page lists a reason of slurm-vipu. The page has it for one model and one size.
fn is_listed(reason: &str) -> bool {
    rows().any(|row| is_alike(row, reason))
}

fn rows() -> impl Iterator<Item = &'static str> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with("Reasons in squeue\n"));
    section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

/// Whether a row has these words, with another model and size.
fn is_alike(row: &str, reason: &str) -> bool {
    let is_one = |(listed, word): (&str, &str)| match listed {
        "16" => word.parse::<u32>().is_ok(),
        "pod64" => !word.contains([',', '|', ';', '"']),
        "IPUs" => word == "IPUs" || word == "IPU",
        listed => listed == word,
    };
    let words = || reason.split(' ');
    row.split(' ').count() == words().count() && row.split(' ').zip(words()).all(is_one)
}

#[test]
fn cli_list_of_reasons_is_short_and_of_harmless_characters() {
    let is_harmless = |row: &str| row.chars().all(|it| it.is_ascii_alphanumeric() || " :-".contains(it));
    assert!((20..=40).contains(&rows().count()) && rows().all(is_harmless));
    assert!(is_listed("vipu: 1 IPU of m2000 needed") && is_listed("vipu: preparing"));
    assert!(!is_listed("vipu: 1 IPU of m2000 needed, 0 free") && !is_listed("vipu: other"));
}

/// Jobs of five sizes come and go, and exporters make a label of each reason.
#[test]
fn cli_reasons_of_a_busy_pod_are_those_of_the_list() -> Result<()> {
    roomy().run(|cluster| {
        // All wait for this one at first, so that there are reasons to see on a busy machine, too.
        let largest = staying(cluster, 64, &[])?;
        let mut jobs = Vec::new();
        for number in 0..30 {
            let request = format!("--ipus={}", 1 << (number % 5));
            jobs.push(cluster.sbatch(&format!("sleep 0.{number}"), &["--time=5", &request])?);
        }
        let reason = || cluster.squeue(jobs[0], "%r");
        wait_until("a job to wait for IPUs", LIMIT, || Ok(reason()?.starts_with("vipu")))?;
        let mut seen = BTreeSet::from([reason()?]);
        cancel(cluster, largest)?;
        wait_until("all jobs to end", 3 * LIMIT, || {
            let format = ["-h", "-t", "PD,CF,CG", "-o", "%r"];
            let shown = cluster.command("squeue").args(&format).success()?.stdout;
            seen.extend(shown.lines().map(str::to_owned));
            Ok(cluster.jobs()?.iter().filter(|job| jobs.contains(&job.id)).all(JobView::is_over))
        })?;
        let ours: Vec<_> = seen.iter().filter(|reason| reason.starts_with("vipu")).collect();
        ensure!(!ours.is_empty() && ours.iter().all(|reason| is_listed(reason)), "{ours:?}");
        // One for each size, while it waits, while its partition is made, and at its end.
        ensure!(ours.len() <= 3 * 5 + 1, "{ours:?}");
        Ok(())
    })
}

/// A controller by other hands may say anything.
#[test]
fn cli_words_of_a_controller_are_in_no_reason() -> Result<()> {
    let words = "slurm_1 \"exists\"|again, $(reboot); JobState=COMPLETED\nsecond line\u{1b}[31m";
    let settings = roomy().vipu_conf("CreateTimeout=3").expect_log("exists");
    settings.run(|cluster| {
        cluster.mock().inject(Fault::new(Effect::CreateError { text: words.into() }))?;
        let job = cluster.sbatch("true", &["--ipus=4"])?;
        let tried = "vipu: creating a partition of 4 IPUs on pod64 - tried again";
        let shows = |reason: &'static str| move |job: &JobView| job.reason.replace('_', " ") == reason;
        cluster.await_job(job, "to be tried again", LIMIT, shows(tried))?;
        let held = "vipu: held - no partition was made";
        let held = cluster.await_job(job, "to be held", LIMIT, shows(held))?;
        let comment = &held.system_comment;
        ensure!(comment.contains("exists") && comment.lines().count() == 1, "{comment}");
        ensure!(!comment.contains(char::is_control), "{comment:?}");
        let json = cluster.command("squeue").args(&["--json"]).success()?.stdout;
        let json: serde_json::Value = serde_json::from_str(&json)?;
        let [shown] = json["jobs"].as_array().map(Vec::as_slice).unwrap_or_default() else {
            anyhow::bail!("squeue --json has not one job: {json}");
        };
        ensure!(shown["state_reason"] == "JobHeldUser", "{}", shown["state_reason"]);
        cancel(cluster, job)
    })
}
