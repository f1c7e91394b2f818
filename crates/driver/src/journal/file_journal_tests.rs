use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ledger::{Claim, Seconds};
use tempfile::TempDir;
use vipu_types::{IpuCount, JobRun};

use super::*;
use crate::Stage;
use crate::test_claim::{self, id};

struct Fixture(TempDir);

impl Fixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("vipu_journal")
    }

    fn open(&self) -> (FileJournal, Vec<LiveRecord>) {
        FileJournal::open(self.path(), |_| None).unwrap()
    }

    /// Records these in a life of the journal.
    async fn record(&self, entries: impl IntoIterator<Item = Entry>) {
        let (journal, _) = self.open();
        for entry in entries {
            journal.record(entry).await.unwrap();
        }
    }

    /// The live records in the next life, and in the life after it, which reads the compacted file.
    fn live(&self) -> Vec<LiveRecord> {
        let found = self.open().1;
        assert_eq!(self.open().1, found);
        found
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn append(&self, text: &str) {
        OpenOptions::new().append(true).open(self.path()).unwrap().write_all(text.as_bytes()).unwrap();
    }
}

fn claim(job: u32) -> Claim {
    let claim = test_claim::claim(job);
    Claim { run: JobRun { restart: 2, ..claim.run }, size: IpuCount::new(16).unwrap(), ..claim }
}

/// A line of the journal.
fn checked(json: &str) -> String {
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

fn create(job: u32) -> Entry {
    Entry::Create { claim: claim(job), ipuof_dir: Some("/ipuof".into()), stays: false, unanswered: 0 }
}

fn remove(job: u32, unanswered: u32) -> Entry {
    Entry::Remove { claim: claim(job), unanswered: Some(unanswered) }
}

/// The text of the entry `create(1)`.
const CREATE_1: &str = r#"{"create":{"claim":{"partition":"slurm_1","run":{"job":1,"restart":2,"start":1700000000},"user":1001,"model":"pod64","controller":"vipu:8090","size":16},"ipuof_dir":"/ipuof"}}"#;

fn live(job: u32, stage: Stage) -> LiveRecord {
    let ipuof_dir = Some("/ipuof".into());
    LiveRecord {
        claim: claim(job),
        ipuof_dir,
        stays: false,
        stage,
        kept_until: None,
        launched: None,
        unanswered: 0,
    }
}

#[tokio::test]
async fn a_partition_that_is_not_gone_is_live_in_the_next_life() {
    let fixture = Fixture::new();
    assert_eq!(fixture.open().1, []);
    let made = [create(1), create(2), create(3), create(4), Entry::Created(id(2)), Entry::Created(id(3))];
    // For 5 there is no create on record.
    let removes = [3, 4, 5].map(|job| remove(job, 0));
    fixture.record(made.into_iter().chain(removes).chain([Entry::Gone(id(4))])).await;
    let expected = [
        live(1, Stage::Creating),
        live(2, Stage::Created),
        live(3, Stage::Removing),
        LiveRecord { ipuof_dir: None, ..live(5, Stage::Removing) },
    ];
    assert_eq!(fixture.live(), expected);
}

#[tokio::test]
async fn a_partition_without_files_is_known_as_well_as_others() {
    let fixture = Fixture::new();
    let entries = (1..=5).map(|job| Entry::Create {
        claim: claim(job),
        ipuof_dir: None,
        stays: job == 5,
        unanswered: 0,
    });
    let ups = [2, 3].map(|job| Entry::Created(id(job)));
    let removes = [3, 4].map(|job| remove(job, u32::from(job == 4)));
    fixture.record(entries.chain(ups).chain(removes)).await;
    assert!(!fs::read_to_string(fixture.path()).unwrap().contains("ipuof_dir"));
    let stages = [Stage::Creating, Stage::Created, Stage::Removing, Stage::Removing, Stage::Creating];
    let expected: Vec<_> = (1..)
        .zip(stages)
        .map(|(job, stage)| {
            let unanswered = u32::from(job == 4);
            LiveRecord { ipuof_dir: None, stays: job == 5, unanswered, ..live(job, stage) }
        })
        .collect();
    assert_eq!(fixture.live(), expected);
}

#[tokio::test]
async fn user_keep_outlives_a_slurmctld_until_the_partition_is_to_go() {
    let fixture = Fixture::new();
    let kept = |job: u32, until| Entry::Kept { partition: id(job), until: Seconds(until) };
    // For 2 the `Created` line is lost, 3 has its removal ordered, 4 is made for another run later, and 9 is
    // unknown.
    let entries = [create(1), Entry::Created(id(1)), kept(1, 50), kept(1, 60), create(2), kept(2, 70)];
    let gone = [create(3), Entry::Created(id(3)), kept(3, 80), remove(3, 0)];
    let again = [create(4), kept(4, 90), create(4), kept(9, 90)];
    fixture.record(entries.into_iter().chain(gone).chain(again)).await;
    let expected = [
        (id(1), Stage::Created, Some(Seconds(60))),
        (id(2), Stage::Creating, Some(Seconds(70))),
        (id(3), Stage::Removing, None),
        (id(4), Stage::Creating, None),
    ];
    // Opening the journal rewrote the file.
    for _ in 0..2 {
        let kept = fixture.open().1.into_iter().map(|it| (it.claim.partition.clone(), it.stage, it.kept()));
        assert_eq!(kept.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_removal_outlives_a_late_create() {
    let fixture = Fixture::new();
    // The create line of 1 is lost, as on a damaged disk.
    let entries = [create(2), remove(1, 0), remove(2, 1)];
    fixture.record(entries.into_iter().chain([1, 2].map(|job| Entry::Created(id(job))))).await;
    let found = fixture.live().into_iter().map(|record| (record.claim.partition, record.stage));
    assert_eq!(found.collect::<Vec<_>>(), [1, 2].map(|job| (id(job), Stage::Removing)));
}

#[tokio::test]
async fn an_entry_is_on_disk_when_record_returns_and_for_its_owner_only() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
    journal.record(create(1)).await.unwrap();
    let header = r#"{"journal":"slurm-vipu","version":2,"slurm_vipu":"0.1.0"}"#;
    let header = header.replace("0.1.0", env!("CARGO_PKG_VERSION"));
    assert_eq!(fixture.text(), checked(&header) + &checked(CREATE_1));
    let mode = fs::metadata(fixture.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[tokio::test]
async fn records_are_kept_when_their_futures_are_dropped() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
    for job in 0..500 {
        let record = journal.record(create(job));
        // The future is polled once and dropped, as by a cancelled create.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, record).await;
    }
    drop(journal);
    assert_eq!(fixture.open().1.len(), 500);
}

#[tokio::test]
async fn a_line_cut_short_is_dropped() {
    let fixture = Fixture::new();
    fixture.record([create(1)]).await;
    fixture.append(r#"{"create":{"claim":{"parti"#);
    // The torn line does not spoil the next entry.
    fixture.record([create(2)]).await;
    assert_eq!(fixture.open().1, [live(1, Stage::Creating), live(2, Stage::Creating)]);
}

#[tokio::test]
async fn an_entry_of_a_kind_that_is_not_known_is_kept_aside() {
    let fixture = Fixture::new();
    fixture.record([create(1)]).await;
    let unknown = checked(r#"{"moved":"slurm_1"}"#);
    fixture.append(&unknown);
    assert_eq!(fixture.open().1, [live(1, Stage::Creating)]);
    let bad = fs::read_to_string(fixture.0.path().join("vipu_journal.bad")).unwrap();
    assert!(bad.ends_with(&unknown), "{bad}");
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_kept_aside() {
    for text in ["not a journal\n", "{\"journal\":\"another\",\"version\":2}\n", "\0\0\0\0", ""] {
        let fixture = Fixture::new();
        fs::write(fixture.path(), text).unwrap();
        assert_eq!(fixture.open().1, []);
        fixture.record([create(1)]).await;
        let bad = fixture.0.path().join("vipu_journal.bad");
        assert_eq!(fs::read_to_string(&bad).unwrap(), text);
        assert_eq!(fs::metadata(bad).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fixture.open().1, [live(1, Stage::Creating)]);
    }
}

#[test]
fn a_journal_of_a_newer_version_is_not_touched() {
    let fixture = Fixture::new();
    let header = r#"{"journal":"slurm-vipu","version":3,"slurm_vipu":"9.8.7"}"#;
    let text = checked(header) + "whatever that means\n";
    fs::write(fixture.path(), &text).unwrap();
    let error = FileJournal::open(fixture.path(), |_| None).unwrap_err().to_string();
    assert!(error.contains("knows up to 2: install slurm-vipu 9.8.7 again"), "{error}");
    assert_eq!(fixture.text(), text);
    assert_eq!(fs::read_dir(fixture.0.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_previous_version_is_read() {
    let fixture = Fixture::new();
    let lines =
        [r#"{"journal":"slurm-vipu","version":1}"#, CREATE_1, r#"{"created":"slurm_1"}"#, r#"{"gone":"slu"#];
    fs::write(fixture.path(), lines.join("\n")).unwrap();
    assert_eq!(fixture.open().1, [live(1, Stage::Created)]);
    fixture.record([create(2)]).await;
    assert!(fixture.text().contains(r#" {"journal":"slurm-vipu","version":2,"#));
    assert_eq!(fixture.open().1, [live(1, Stage::Created), live(2, Stage::Creating)]);
}

#[tokio::test]
async fn a_superseded_journal_writes_nothing() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
    journal.record(create(1)).await.unwrap();
    assert!(!journal.ownership().was_lost());
    // A slurmctld elsewhere owns the journal.
    fs::write(fixture.0.path().join("vipu_journal.owner"), "7 other:pid:[1] 42 1\n").unwrap();
    for job in [2, 3] {
        let error = journal.record(create(job)).await.unwrap_err();
        assert!(error.is_final());
        assert!(
            error.to_string().ends_with("the slurmctld of process 42 on other has taken it over"),
            "{error}"
        );
    }
    assert!(journal.ownership().was_lost() && journal.superseded().await.is_final());
    drop(journal);
    assert_eq!(fixture.open().1, [live(1, Stage::Creating)]);
}

#[tokio::test]
async fn the_end_of_a_successor_here_gives_the_journal_back() {
    let fixture = Fixture::new();
    let (earlier, _) = fixture.open();
    earlier.record(create(1)).await.unwrap();
    let (later, found) = fixture.open();
    assert_eq!(found, [live(1, Stage::Creating)]);
    later.record(create(2)).await.unwrap();
    // This process lives on, so the owner is undecided.
    let waits = tokio::time::timeout(std::time::Duration::from_millis(300), earlier.record(create(3)));
    assert!(waits.await.is_err());
    drop(later);
    // The mark now looks like that of a process that has ended.
    let path = fixture.0.path().join("vipu_journal.owner");
    let mark = fs::read_to_string(&path).unwrap();
    let me = format!(" {} ", std::process::id());
    assert!(mark.contains(&me));
    fs::write(&path, mark.replace(&me, " 4194305 ")).unwrap();
    earlier.record(create(4)).await.unwrap();
    assert!(earlier.ownership().was_lost(), "for a while");
    drop(earlier);
    // The entries of the successor are kept.
    let expected = [1, 2, 3, 4].map(|job| live(job, Stage::Creating));
    assert_eq!(fixture.open().1, expected);
}

/// The mark is no file, as on a file server with stale handles.
#[tokio::test]
async fn an_unreadable_owner_is_reported() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
    let owner = fixture.0.path().join("vipu_journal.owner");
    fs::remove_file(&owner).unwrap();
    fs::create_dir(&owner).unwrap();
    let error = journal.record(create(1)).await.unwrap_err();
    assert!(error.is_blind() && !error.is_final(), "{error}");
    let words = ": cannot find out which slurmctld has it: ";
    assert!(error.to_string().contains(words), "{error}");
    fs::remove_dir(&owner).unwrap();
    journal.record(create(2)).await.unwrap();
    drop(journal);
    assert_eq!(fixture.open().1, [1, 2].map(|job| live(job, Stage::Creating)));
}

#[tokio::test]
async fn a_replaced_file_is_written_anew() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
    journal.record(create(1)).await.unwrap();
    // A superseded process replaced the file.
    fs::write(fixture.0.path().join("stray"), "").unwrap();
    fs::rename(fixture.0.path().join("stray"), fixture.path()).unwrap();
    fs::remove_file(fixture.0.path().join("vipu_journal.owner")).unwrap();
    fs::write(fixture.0.path().join("vipu_journal.new.1"), "").unwrap();
    journal.record(create(2)).await.unwrap();
    drop(journal);
    assert_eq!(fixture.open().1, [live(1, Stage::Creating), live(2, Stage::Creating)]);
    let mut files: Vec<_> =
        fs::read_dir(fixture.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort_unstable();
    assert_eq!(files, ["vipu_journal", "vipu_journal.owner"]);
}

#[tokio::test]
async fn a_claim_without_a_controller_gets_its_models_first() {
    let fixture = Fixture::new();
    let of = |job: u32, model: &str| {
        format!(
            r#"{{"create":{{"claim":{{"partition":"slurm_{job}","run":{{"job":{job},"restart":2,"start":1700000000}},"user":1001,"model":"{model}","size":16}},"ipuof_dir":"/ipuof"}}}}"#
        )
    };
    let (known, unknown) = (of(1, "pod64"), of(2, "pod16"));
    let text = format!("{{\"journal\":\"slurm-vipu\",\"version\":1}}\n{known}\n{unknown}\n");
    fs::write(fixture.path(), text).unwrap();
    let first = |model: &ModelName| (model.as_str() == "pod64").then(|| claim(1).controller);
    assert_eq!(FileJournal::open(fixture.path(), first).unwrap().1, [live(1, Stage::Creating)]);
    // The file names the controller by now.
    assert_eq!(fixture.open().1, [live(1, Stage::Creating)]);
}

#[tokio::test]
async fn the_journal_does_not_grow_for_ever() {
    let fixture = Fixture::new();
    let (journal, _) = fixture.open();
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
    // Each of the 16000 partitions wrote about 200 bytes.
    let length = fs::metadata(fixture.path()).unwrap().len();
    assert!(length < 2_000_000, "{length}");
}

/// The thread never ends on its own.
#[tokio::test]
async fn the_end_of_the_thread_is_reported_at_once() {
    let fixture = Fixture::new();
    let (mut journal, _) = fixture.open();
    drop(journal.records.take());
    let error = journal.superseded().await;
    assert!(error.is_final() && error.to_string().ends_with("its thread has ended"), "{error}");
}

#[test]
fn an_error_of_the_file_system_names_the_path() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path()).unwrap();
    let error = FileJournal::open(fixture.path(), |_| None).unwrap_err().to_string();
    assert!(error.starts_with(&format!("journal {}: cannot read it: ", fixture.path().display())), "{error}");
}
