use jiff::tz::TimeZone;
use vipu_status::{Job, SCHEMA, Writer};
use vipu_types::Words;

use super::*;
use crate::user_names::Users;

/// A document with one partition for each state, named by it. They are of user 1000, but for `other`.
fn document() -> Status {
    let partition = |id: &str, user, state| Partition {
        id: Some(id.into()),
        job: Some(Job { id: 7, user, array: Some((5, 2)), ..Job::default() }.into()),
        model: "pod64".into(),
        controller: "vipu:8090".into(),
        size: 1,
        state,
        ..Partition::default()
    };
    let mut partitions: Vec<_> =
        State::ALL.iter().map(|state| partition(state.name(), 1000, *state)).collect();
    partitions.push(partition("other", 1001, State::Kept));
    let writer = Writer { cluster: "c".into(), ..Writer::default() };
    Status { schema: SCHEMA, written: 1000, writer, partitions, ..Status::default() }
}

fn surroundings() -> Surroundings {
    Surroundings {
        now: 1003,
        zone: TimeZone::UTC,
        user: 1000,
        users: Users::List(vec![(1001, "bob".into())]),
        variables: Default::default(),
        terminal: false,
        host: "login".into(),
        root: "/nonexistent".into(),
        etc: "/nonexistent".into(),
    }
}

/// A StatusDir with a document and, if wished, the directory of requests.
fn status_dir(has_requests: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("document"), document().to_json().unwrap()).unwrap();
    if has_requests {
        fs::create_dir(dir.path().join("vipu_requests.c")).unwrap();
    }
    dir
}

fn free(dir: &Path, id: &str, reason: Option<&str>, patience: Duration) -> Result<String, Words> {
    let request = UserRequest::Free { partition: id.into(), reason: reason.map(Into::into) };
    let source = Source::File(dir.join("document"));
    let outcome = of_user(id, &request, &source, &surroundings(), patience);
    outcome.map_err(|why| why.to_string().replace(dir.to_str().unwrap(), "DIR").into())
}

fn requests(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir.join("vipu_requests.c")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn cli_free_of_what_is_not_kept_for_the_user_makes_no_request() {
    let dir = status_dir(false);
    for (id, why) in [
        (
            "absent\u{1b}",
            "partition absent\\u{1b} is unknown, or of another user: `svipu --me partitions` lists yours",
        ),
        (
            "other",
            "other is of user bob: only this user can free it, and root or SlurmUser on the host of slurmctld",
        ),
        ("idle", "idle is idle and no user's: root or SlurmUser can free it on the host of slurmctld"),
        ("resetting", "resetting is not kept: job 5_2 has ended, and it is being reset"),
        ("removing", "removing is being removed already"),
        ("ending", "ending is being removed already"),
        (
            "running",
            "running is not kept: job 5_2 has it, and `scancel 5_2` ends the job and removes the partition",
        ),
    ] {
        assert_eq!(free(dir.path(), id, None, PATIENCE), Err(why.into()));
    }
    let long = "a".repeat(2000);
    let why = "the request: the line is longer than 1000 bytes";
    assert_eq!(free(dir.path(), "kept", Some(&long), PATIENCE), Err(why.into()));
    let why = free(dir.path(), "kept", None, PATIENCE).unwrap_err();
    assert!(why.starts_with("cannot make a request in DIR/vipu_requests.c: No such file"), "{why}");
    let remote = Source::Exporter("http://host:9877/".into());
    let request = UserRequest::Free { partition: "kept".into(), reason: None };
    let why = of_user("kept", &request, &remote, &surroundings(), PATIENCE).unwrap_err().to_string();
    assert!(why.starts_with("http://host:9877/ takes no requests"), "{why}");
}

#[test]
fn cli_free_that_slurmctld_does_not_take_is_withdrawn() {
    let dir = status_dir(true);
    let why = free(dir.path(), "kept", None, Duration::ZERO).unwrap_err();
    assert_eq!(
        why,
        "slurmctld has not taken the request, and svipu has withdrawn it, so that kept stays: see slurmctld's log"
    );
    assert!(requests(dir.path()).is_empty());
    let why = withdraw(&dir.path().join("vipu_requests.c/taken"), "kept", "");
    assert!(why.starts_with("slurmctld has taken the request, but"), "{why}");
}

#[test]
fn cli_free_waits_until_the_document_shows_the_end() {
    let dir = status_dir(true);
    let path = dir.path();
    std::thread::scope(|scope| {
        let outcome = scope.spawn(|| free(path, "kept", Some("seen"), PATIENCE));
        let request = loop {
            match requests(path).pop() {
                Some(link) => break link,
                None if outcome.is_finished() => panic!("{:?}", outcome.join()),
                None => std::thread::yield_now(),
            }
        };
        let target = fs::read_link(&request).unwrap();
        assert_eq!(target.to_str(), Some(r#"{"free":{"partition":"kept","reason":"seen"}}"#));
        fs::remove_file(&request).unwrap();
        let mut after = document();
        after.partitions.retain(|it| it.state != State::Kept);
        fs::write(path.join("new"), after.to_json().unwrap()).unwrap();
        fs::rename(path.join("new"), path.join("document")).unwrap();
        assert_eq!(
            outcome.join().unwrap(),
            Ok("kept was kept for job 5_2 and is being removed\n".to_owned())
        );
    });
}
