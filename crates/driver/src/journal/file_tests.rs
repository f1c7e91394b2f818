use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ledger::Claim;
use tempfile::TempDir;
use vipu_types::{IpuCount, JobRun, PartitionId};

use super::*;
use crate::Stage;

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("vipu_journal")
    }

    fn open(&self) -> (FileJournal, Vec<LiveRecord>) {
        FileJournal::open(self.path(), |_| None).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn append(&self, text: &str) {
        OpenOptions::new().append(true).open(self.path()).unwrap().write_all(text.as_bytes()).unwrap();
    }
}

fn id(job: u32) -> PartitionId {
    PartitionId::of_run("slurm", job, 0).unwrap()
}

fn claim(job: u32) -> Claim {
    Claim {
        partition: id(job),
        run: JobRun { job, restart: 2, start: 1_700_000_000 },
        user: 1001,
        model: ModelName::new("pod64").unwrap(),
        controller: "vipu1:8090".parse().unwrap(),
        size: IpuCount::new(16).unwrap(),
        ipus: vec![],
    }
}

fn create(job: u32) -> Entry {
    Entry::Create { claim: claim(job), ipuof_dir: "/ipuof".into() }
}

fn live(job: u32, stage: Stage) -> LiveRecord {
    LiveRecord { claim: claim(job), ipuof_dir: Some("/ipuof".into()), stage }
}

#[tokio::test]
async fn what_is_not_gone_is_live_in_the_next_life() {
    let desk = Desk::new();
    let (journal, before) = desk.open();
    assert_eq!(before, []);
    for entry in [create(1), create(2), create(3), create(4), Entry::Created(id(2)), Entry::Created(id(3))] {
        journal.record(entry).await.unwrap();
    }
    for entry in [Entry::Remove { claim: claim(3) }, Entry::Remove { claim: claim(4) }, Entry::Gone(id(4))] {
        journal.record(entry).await.unwrap();
    }
    // A remove of which no create is known.
    journal.record(Entry::Remove { claim: claim(5) }).await.unwrap();
    drop(journal);

    let expected = [
        live(1, Stage::Creating),
        live(2, Stage::Created),
        live(3, Stage::Removing),
        LiveRecord { ipuof_dir: None, ..live(5, Stage::Removing) },
    ];
    // The second life reads the compacted file of the first, the third that of the second.
    for _ in 0..2 {
        assert_eq!(desk.open().1, expected);
    }
}

#[tokio::test]
async fn it_is_written_when_record_returns_and_for_its_owner_only() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    journal.record(create(1)).await.unwrap();
    let expected = r#"{"journal":"slurm-vipu","version":1}
{"create":{"claim":{"partition":"slurm_1","run":{"job":1,"restart":2,"start":1700000000},"user":1001,"model":"pod64","controller":"vipu1:8090","size":16},"ipuof_dir":"/ipuof"}}
"#;
    assert_eq!(desk.text(), expected);
    let mode = fs::metadata(desk.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[tokio::test]
async fn records_are_kept_in_order_also_when_nobody_waits() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    for job in 0..500 {
        let record = journal.record(create(job));
        // Polled once and dropped, as by a create that is cancelled.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, record).await;
    }
    drop(journal);
    let jobs: Vec<_> = desk.open().1.into_iter().map(|record| record.claim.run.job).collect();
    assert_eq!(jobs.len(), 500);
}

#[tokio::test]
async fn records_may_come_at_once() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    let journal = std::sync::Arc::new(journal);
    let tasks: tokio::task::JoinSet<_> = (0..200)
        .map(|job| {
            let journal = std::sync::Arc::clone(&journal);
            async move { journal.record(create(job)).await }
        })
        .collect();
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!(desk.text().lines().count(), 201);
}

#[tokio::test]
async fn a_line_cut_short_is_dropped() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    journal.record(create(1)).await.unwrap();
    drop(journal);
    desk.append(r#"{"create":{"claim":{"parti"#);
    let (journal, found) = desk.open();
    assert_eq!(found, [live(1, Stage::Creating)]);
    // And does not spoil what is written next.
    journal.record(create(2)).await.unwrap();
    drop(journal);
    assert_eq!(desk.open().1, [live(1, Stage::Creating), live(2, Stage::Creating)]);
}

#[tokio::test]
async fn what_cannot_be_understood_is_kept_aside() {
    for text in ["not a journal\n", "{\"journal\":\"slurm-vipu\",\"version\":2}\n", "\0\0\0\0"] {
        let desk = Desk::new();
        fs::write(desk.path(), text).unwrap();
        let (journal, found) = desk.open();
        assert_eq!(found, []);
        journal.record(create(1)).await.unwrap();
        assert_eq!(fs::read_to_string(desk.0.path().join("vipu_journal.bad")).unwrap(), text);
        drop(journal);
        assert_eq!(desk.open().1, [live(1, Stage::Creating)]);
    }
}

#[tokio::test]
async fn a_bad_line_in_the_middle_makes_the_whole_bad() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    journal.record(create(1)).await.unwrap();
    drop(journal);
    desk.append("{\"created\":\"slurm\n{\"created\":\"slurm_1\"}\n");
    assert_eq!(desk.open().1, []);
    assert!(desk.0.path().join("vipu_journal.bad").exists());
}

#[tokio::test]
async fn what_names_no_controller_is_of_its_models_first() {
    let desk = Desk::new();
    let of = |job: u32, model: &str| {
        format!(
            r#"{{"create":{{"claim":{{"partition":"slurm_{job}","run":{{"job":{job},"restart":2,"start":1700000000}},"user":1001,"model":"{model}","size":16}},"ipuof_dir":"/ipuof"}}}}"#
        )
    };
    let (known, unknown) = (of(1, "pod64"), of(2, "pod16"));
    let text = format!("{{\"journal\":\"slurm-vipu\",\"version\":1}}\n{known}\n{unknown}\n");
    fs::write(desk.path(), text).unwrap();
    let first = |model: &ModelName| (model.as_str() == "pod64").then(|| claim(1).controller);
    assert_eq!(FileJournal::open(desk.path(), first).unwrap().1, [live(1, Stage::Creating)]);
    // By now it names it.
    assert_eq!(desk.open().1, [live(1, Stage::Creating)]);
}

#[tokio::test]
async fn it_does_not_grow_for_ever() {
    let desk = Desk::new();
    let (journal, _) = desk.open();
    let journal = std::sync::Arc::new(journal);
    for round in 0..8 {
        let tasks: tokio::task::JoinSet<_> = (0..2000)
            .map(|k| {
                let journal = std::sync::Arc::clone(&journal);
                async move {
                    let job = round * 2000 + k;
                    journal.record(create(job)).await?;
                    journal.record(Entry::Gone(id(job))).await
                }
            })
            .collect();
        assert!(tasks.join_all().await.iter().all(Result::is_ok));
    }
    // Each of the 16000 partitions wrote some 200 bytes.
    let length = fs::metadata(desk.path()).unwrap().len();
    assert!(length < 2_000_000, "{length}");
}

#[test]
fn what_the_file_system_refuses_is_said_with_the_path() {
    let desk = Desk::new();
    fs::create_dir(desk.path()).unwrap();
    let error = FileJournal::open(desk.path(), |_| None).unwrap_err().to_string();
    assert!(error.starts_with(&format!("journal {}: cannot read it: ", desk.path().display())), "{error}");
}
