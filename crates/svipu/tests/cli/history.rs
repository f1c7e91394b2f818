//! What svipu tells from the audit log.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use insta::assert_snapshot;
use vipu_status::{AUDIT_LOG, AuditLine};

use super::documents::{WRITTEN, pod64};
use super::{printed, run, run_on, surroundings};

/// A line about the partition of a job of alice.
fn line(at: i64, what: &str, job: Option<u32>, partition: &str, seconds: f64, outcome: &str) -> AuditLine {
    AuditLine {
        at: WRITTEN - at,
        what: what.into(),
        why: Some(if job.is_some() { "removing" } else { "no job" }.into()),
        model: Some("pod64".into()),
        controller: Some("vipu:8090".into()),
        partition: Some(partition.into()),
        job,
        user: job.map(|_| 1000),
        ipus: job.map(|_| 16),
        seconds,
        outcome: outcome.into(),
        ..AuditLine::default()
    }
}

/// The lines of a partition that was there for 60 s.
fn life(from: i64, job: u32, id: &str) -> Vec<AuditLine> {
    vec![
        line(from, "create", Some(job), id, 0.1, "ok"),
        line(from, "ready", Some(job), id, 0.4, "ok"),
        line(from - 61, "remove", Some(job), id, 0.1, "ok"),
        line(from - 61, "gone", None, id, 0.5, "ok"),
    ]
}

/// Writes the document, and these lines into the audit log: `old` into an older file.
fn write(folder: &Path, old: &[AuditLine], new: &[AuditLine]) {
    let text = |lines: &[AuditLine]| -> String {
        lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
    };
    fs::write(folder.join("vipu_status.json"), pod64().to_json().unwrap()).unwrap();
    fs::write(folder.join(format!("{AUDIT_LOG}.1")), text(old)).unwrap();
    fs::write(folder.join(AUDIT_LOG), text(new)).unwrap();
}

fn example(folder: &Path) {
    // Job 7 was requeued. Its first partition was refused twice, and is in two files.
    let mut old = vec![line(9000, "create", Some(7), "slurm_7", 0.2, "refused"); 2];
    old.extend(life(8990, 7, "slurm_7"));
    let mut new = old.split_off(4);
    new.extend(life(8000, 7, "slurm_7r1"));
    (40..52).for_each(|job| new.extend(life(7000 - i64::from(job), job, &format!("slurm_{job}"))));
    let runs = [
        line(661, "create", Some(20), "slurm_20", 0.1, "ok"),
        line(600, "ready", Some(20), "slurm_20", 61.0, "ok"),
        line(500, "remove", None, "by_hand", 0.1, "no_answer"),
        line(400, "create", Some(9), "slurm_9\u{1b}[2J", 0.1, "no_room\u{202e}"),
        AuditLine {
            what: "drain".into(),
            target: Some("pod64".into()),
            by: Some("root".into()),
            ..AuditLine::default()
        },
    ];
    new.extend(runs);
    write(folder, &old, &new);
}

#[test]
fn cli_svipu_history_of_jobs_partitions_and_users() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let lines = [
        "job 7",
        "job 20",
        "partition by_hand",
        "partition slurm_51",
        "job 9",
        "job 99",
        "user alice",
        "user bob",
    ];
    let text = |line: &str| {
        format!("$ svipu {line}\n{}\n", printed(&run_on(folder.path(), line, &surroundings(&[]))))
    };
    let text = lines.map(text).concat();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert_snapshot!(text);
}

#[test]
fn cli_svipu_history_as_json() {
    let folder = tempfile::tempdir().unwrap();
    example(folder.path());
    let json = |line: &str| -> serde_json::Value {
        serde_json::from_str(&run_on(folder.path(), line, &surroundings(&[])).stdout).unwrap()
    };
    let job = json("job 7 --json");
    assert_eq!((&job["partitions"], &job["line"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert_eq!(job["history"][0]["failures"][0]["count"], 2);
    assert_eq!(
        (&job["history"][1]["partition"], &job["history"][1]["making"]),
        (&"slurm_7r1".into(), &0.4.into())
    );
    let user = json("user alice --json");
    assert_eq!(user["history"].as_array().unwrap().len(), 10);
    assert_eq!(user["totals"]["partitions"], 15);
    assert_eq!(json("job 7 -u alice --json")["history"].as_array().unwrap().len(), 2);
}

#[test]
fn cli_svipu_tells_where_past_jobs_are() {
    let folder = tempfile::tempdir().unwrap();
    let public = folder.path().join("vipu_status.c.json");
    fs::write(&public, pod64().to_json().unwrap()).unwrap();
    let text = |line: &str| printed(&run_on(&public, line, &surroundings(&[])));
    let missing = printed(&run(&pod64(), "job 99"));
    assert_snapshot!(text("job 20") + &text("job 99") + &missing);
}

#[test]
fn cli_svipu_history_of_a_partition_that_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = life(9000, 7, "slurm_7");
    lines.extend(life(5000, 7, "slurm_7"));
    lines.extend(life(3000, 8, "slurm_7"));
    write(folder.path(), &[], &lines);
    let count = |line: &str| {
        let output = run_on(folder.path(), line, &surroundings(&[]));
        output.stdout.matches("history of partition slurm_7").count()
    };
    assert_eq!((count("job 7"), count("job 8"), count("partition slurm_7")), (2, 1, 3));
}

#[test]
fn cli_svipu_history_names_the_component_of_a_heterogeneous_job() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[], &life(9000, 95, "slurm_95"));
    let mut status = pod64();
    Arc::make_mut(status.partitions[0].job.as_mut().unwrap()).id = 95;
    Arc::make_mut(status.partitions[0].job.as_mut().unwrap()).component = Some((94, 1));
    fs::write(folder.path().join("vipu_status.json"), status.to_json().unwrap()).unwrap();
    let text = run_on(folder.path(), "job 94", &surroundings(&[])).stdout;
    assert_eq!(text.matches("94+1 (id 95)").count(), 2, "the partition and its history: {text}");
}

#[test]
fn cli_svipu_history_of_each_job_of_a_partition() {
    let folder = tempfile::tempdir().unwrap();
    let ok = |at, what, job, seconds| line(at, what, Some(job), "slurm_57", seconds, "ok");
    let reuse = |at, job, before| AuditLine { before: Some(before), ..ok(at, "reuse", job, 2.4) };
    let mut lines = life(9000, 57, "slurm_57");
    lines.truncate(2);
    lines.extend([
        ok(8000, "reset", 57, 0.1),
        ok(7998, "idle", 57, 2.1),
        ok(7003, "reset", 63, 0.1),
        reuse(7000, 63, 57),
        ok(6000, "idle", 63, 0.1),
        reuse(5000, 69, 63),
        ok(4000, "idle", 69, 0.1),
        ok(3000, "remove", 69, 0.1),
        line(3000, "gone", None, "slurm_57", 0.5, "ok"),
    ]);
    write(folder.path(), &[], &lines);
    let text = |line: &str| {
        format!("$ svipu {line}\n{}\n", printed(&run_on(folder.path(), line, &surroundings(&[]))))
    };
    let [each, whole] = [["job 57", "job 63", "job 69"].map(text).concat(), text("partition slurm_57")];
    let rows =
        |text: &str| text.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&each), rows(&whole));
    assert_snapshot!(each + &text("user alice"));
}

#[test]
fn cli_svipu_history_names_the_request_that_freed_a_partition() {
    let folder = tempfile::tempdir().unwrap();
    let request = |by: &str, why: Option<&str>| AuditLine {
        at: WRITTEN - 100,
        what: "free".into(),
        target: Some("slurm_7".into()),
        by: Some(by.into()),
        why: why.map(str::to_owned),
        outcome: "ok".into(),
        ..AuditLine::default()
    };
    let requests = [
        request("root", Some("new switch\u{1b}[2J")),
        request("1000", None),
        AuditLine { outcome: "refused".into(), ..request("root", None) },
    ];
    let removal = |lines: &[AuditLine], command: &str| {
        write(folder.path(), &[], lines);
        let output = run_on(folder.path(), command, &surroundings(&[])).stdout;
        output.lines().find(|line| line.contains("removal")).unwrap().trim().to_owned() + "\n"
    };
    let texts = requests.map(|request| {
        let mut lines = life(9000, 7, "slurm_7");
        lines.insert(2, request);
        let shown = removal(&lines, "job 7");
        assert_eq!(removal(&lines, "partition slurm_7"), shown);
        let user = run_on(folder.path(), "user alice --json", &surroundings(&[])).stdout;
        let user: serde_json::Value = serde_json::from_str(&user).unwrap();
        assert_eq!(user["history"][0]["freed"].is_null(), !shown.contains("freed"), "{user}");
        // The line of the call can be missing.
        lines.remove(3);
        shown + &removal(&lines, "job 7")
    });
    assert_snapshot!(texts.concat());
}

#[test]
fn cli_svipu_why_names_the_history_of_a_job_that_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[], &life(9000, 7, "slurm_7"));
    let text = |line: &str| printed(&run_on(folder.path(), line, &surroundings(&[])));
    assert_snapshot!(text("why 7") + &text("why 8"));
}

/// The document for all users is in another directory than the log.
#[test]
fn cli_svipu_finds_the_audit_log_by_slurm_conf() {
    let (folder, public) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    example(folder.path());
    let document = public.path().join(vipu_status::file_names::public("test"));
    fs::write(&document, pod64().to_json().unwrap()).unwrap();
    let conf = folder.path().join("slurm.conf");
    let past = |cluster: &str| {
        let text = format!("ClusterName={cluster}\nStateSaveLocation={}\n", folder.path().display());
        fs::write(&conf, text).unwrap();
        run_on(&document, "job 7", &surroundings(&[("SLURM_CONF", &*conf)])).stdout
    };
    assert!(past("test").contains("history of partition slurm_7r1"));
    assert_eq!(past("other"), "");
}
