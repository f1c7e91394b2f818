use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;

fn example() -> Status {
    let job = Arc::new(Job { id: 42, user: 1000, name: Some("secret".into()), ..Job::default() });
    let partition = Partition {
        key: 7,
        id: Some("slurm_42".into()),
        job: Some(job.clone()),
        model: "pod64".into(),
        controller: "vipu:8090".into(),
        size: 2,
        places: vec![Place { domain: 0, index: 0 }, Place { domain: 0, index: 1 }],
        state: State::Running,
        since: 5,
        begun: 1,
        ends: Some(3600),
        reason: Some("secret".into()),
        ..Partition::default()
    };
    let waiting = WaitingJob {
        key: 8,
        job: Some(job),
        model: "pod64".into(),
        size: 64,
        tasks: 1,
        duration: 60,
        not_before: 10,
        behind: Some(7),
        reason: Some("vipu: IPUs of pod64 are kept for job 42, secret".into()),
        ..WaitingJob::default()
    };
    Status {
        schema: SCHEMA,
        written: 10,
        partitions: vec![partition],
        line: vec![waiting],
        ..Status::default()
    }
}

#[test]
fn cli_status_document_is_read_as_it_was_written() {
    let status = example();
    assert_eq!(Status::parse(&status.to_json().unwrap()).unwrap(), status);
}

#[test]
fn cli_status_document_for_all_names_no_owner() {
    let text = String::from_utf8(example().without_owners().to_json().unwrap()).unwrap();
    for secret in ["42", "1000", "secret"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn cli_status_users_find_their_own_jobs_in_the_document_for_all() {
    let whole = example();
    let own = whole.by_user().remove(&1000).unwrap();
    let own: OwnJobs = serde_json::from_slice(&serde_json::to_vec(&own).unwrap()).unwrap();
    let mut filled = whole.clone().without_owners();
    filled.fill_in(own.clone());
    assert_eq!(filled, whole);
    let mut of_another_writer = whole.without_owners();
    of_another_writer.writer.started += 1;
    let before = of_another_writer.clone();
    of_another_writer.fill_in(own);
    assert_eq!(of_another_writer, before);
}

#[test]
fn cli_status_file_names_tell_clusters_and_users_apart() {
    use file_names::{is_public, own_jobs, public, user_of};
    assert_eq!(public("../hpc.a"), "vipu_status.___hpc_a.json");
    assert!(is_public(&public("a")) && !is_public(file_names::WHOLE) && !is_public(&own_jobs("a", 1)));
    assert_eq!(user_of(&own_jobs("a", 1000), "a"), Some(1000));
    for other in [own_jobs("a", 1000) + ".new", own_jobs("ab", 1000), public("a")] {
        assert_eq!(user_of(&other, "a"), None, "{other}");
    }
}

#[test]
fn cli_status_document_of_another_kind_is_refused_with_the_reason() {
    let refused = |text: &str| Status::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(refused("{\"schema\": 2}").contains("it has schema 2, and this build reads schema 1"));
    for text in ["", "null", "[]", "{}", "{\"schema\": 1}", "{\"schema\": 1, \"written\":", "\u{1}"] {
        assert!(refused(text).starts_with("it is no status document"), "{text}");
    }
    let newer_member = example().to_json().unwrap();
    let newer_member = String::from_utf8(newer_member).unwrap().replacen('{', "{\"new\": [1],", 1);
    assert_eq!(Status::parse(newer_member.as_bytes()).unwrap(), example());
}

#[test]
fn cli_status_states_have_one_word() {
    for state in [State::Preparing, State::Creating, State::Kept, State::Removing] {
        assert_eq!(serde_json::to_value(state).unwrap(), state.name());
    }
}

/// Run with `UPDATE_SCHEMA=1` after a change of the types.
#[test]
fn cli_status_schema_in_docs_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/status.schema.json");
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Status)).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), schema, "UPDATE_SCHEMA=1 writes it anew");
}
