//! The answers to documents, good and bad.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use vipu_status::{
    Bucket, ConfFile, Contact, ControllerCounters, Counters, Drain, Histogram, Ipus, Job, Journal, Limits,
    Model, OtherIpus, OtherUse, Partition, Place, Pod, PoolBlock, SCHEMA, State, Status, WaitingJob, Writer,
};

use crate::metrics::{self, Format};
use crate::numbers::{Numbers, between_bounds};

const NOW: i64 = 1_800_000_000;

fn places(from: u32, count: u32) -> Vec<Place> {
    (from..from + count).map(|index| Place { domain: 0, index }).collect()
}

fn partition(key: u64, state: State, places: Vec<Place>) -> Partition {
    Partition {
        key,
        id: Some(format!("secret_{key}")),
        job: Some(Job { id: 4711, user: 1234, name: Some("secret".into()), ..Job::default() }.into()),
        model: "pod16".into(),
        controller: "vipu:8090".into(),
        size: places.len() as u32,
        places,
        state,
        since: NOW - 100 - key as i64,
        begun: NOW - 200,
        ..Partition::default()
    }
}

fn waiting(key: u64, size: u32, start: Option<i64>) -> WaitingJob {
    WaitingJob {
        key,
        model: "pod16".into(),
        size,
        tasks: 1,
        duration: 60,
        not_before: NOW - 60,
        start,
        ..WaitingJob::default()
    }
}

fn seconds(count: u64) -> Histogram {
    let buckets = [(0.5, 1), (2.0, count - 1)].map(|(up_to, count)| Bucket { up_to, count });
    Histogram { buckets: buckets.into(), count, sum: 4.5 }
}

fn pod16() -> Model {
    let ipus = Ipus { total: 16, free: 7, used: 4, kept: 2, foreign: 2, faulty: 1, ..Ipus::default() };
    let other =
        |because, places| OtherIpus { because, partition: Some("secret".into()), leaving: false, places };
    let counters = ControllerCounters {
        creates: 31,
        removes: 29,
        resets: 7,
        reuses: 5,
        reconciliations: 12,
        failures: BTreeMap::from([("unavailable".into(), 3), ("refused".into(), 1)]),
    };
    let pod = Pod {
        controller: "vipu:8090".into(),
        contact: Contact::Reached { since: NOW - 7200 },
        ipus,
        largest_free: 4,
        others: vec![other(OtherUse::Foreign, places(8, 2)), other(OtherUse::Faulty, places(15, 1))],
        usual_create: Some(2.25),
        counters,
        pool: vec![PoolBlock { partition: "secret".into(), size: 4, ..PoolBlock::default() }],
        missing: BTreeMap::from([("secret".into(), "there is none of this name".into())]),
        ..Pod::default()
    };
    let lost = Contact::Lost { since: NOW - 50, reason: "connection refused".into() };
    let second = Pod { controller: "vipu2:8090".into(), contact: lost, ..Pod::default() };
    Model {
        name: "pod16".into(),
        pods: vec![pod, second],
        largest_now: 4,
        domain_size: 16,
        limits: Limits { job: 16, keep: 3600, ..Limits::default() },
        conf: ConfFile { read: NOW, error: None, in_force: true },
        ..Model::default()
    }
}

/// A document with some of all that is counted, written ten seconds ago.
fn example() -> Status {
    Status {
        schema: SCHEMA,
        written: NOW - 10,
        writer: Writer {
            version: "0.1.0".into(),
            slurm: "24.11.5".into(),
            cluster: "test".into(),
            started: NOW - 9000,
        },
        out_of_order: None,
        models: vec![pod16()],
        partitions: vec![partition(1, State::Running, places(0, 4)), partition(2, State::Kept, places(4, 2))],
        line: vec![waiting(3, 16, Some(NOW + 900)), waiting(4, 2, Some(NOW - 20)), waiting(5, 2, None)],
        not_in_line: vec![],
        drains: vec![Drain { model: "pod16".into(), reason: "secret".into(), ..Drain::default() }],
        counters: Counters {
            events: 512,
            seconds_in_state: BTreeMap::from([(State::Creating, seconds(4))]),
            job_tests: seconds(3),
            ledger_held: seconds(2),
            journal: Journal { entries: 99, lag: 0.25 },
        },
    }
}

fn text(status: &Status) -> String {
    metrics::text(Some(Numbers::of(status, NOW)), Format::OpenMetrics).unwrap()
}

#[test]
fn cli_exporter_metrics() {
    assert_snapshot!(text(&example()));
}

/// promtool checks the older format (tests/prometheus).
#[test]
fn cli_exporter_metrics_in_the_older_format_have_the_same_samples() {
    let older = metrics::text(Some(Numbers::of(&example(), NOW)), Format::Plain).unwrap();
    let samples = |text: &str| -> Vec<_> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(samples(&older), samples(&text(&example())));
    assert!(older.contains("\n# TYPE vipu_creates_total counter\n"), "{older}");
    assert!(!older.contains("# UNIT") && !older.contains("# EOF"), "{older}");
    assert_eq!(Format::of("text/html, application/openmetrics-text;version=1.0.0"), Format::OpenMetrics);
    assert_eq!(Format::of("*/*"), Format::Plain);
}

#[test]
fn cli_exporter_metrics_without_a_document() {
    assert_snapshot!(metrics::text(None, Format::OpenMetrics).unwrap());
}

#[test]
fn cli_exporter_stats() {
    assert_snapshot!(serde_json::to_string_pretty(&Numbers::of(&example(), NOW)).unwrap());
}

#[test]
fn cli_exporter_names_no_job_user_or_partition() {
    let stats = serde_json::to_string(&Numbers::of(&example(), NOW)).unwrap();
    for secret in ["4711", "1234", "secret"] {
        assert!(!text(&example()).contains(secret), "{secret}");
        assert!(!stats.contains(secret), "{secret}");
    }
}

#[test]
fn cli_exporter_hostile_document_makes_a_bounded_text() {
    let evil = format!("\u{1b}[2J\n\"\\{}", "x".repeat(300));
    let mut status = example();
    status.writer.cluster.clone_from(&evil);
    let mut pod = pod16().pods.swap_remove(0);
    pod.counters.failures = (0..30).map(|cause| (format!("{cause} {evil}"), u64::MAX)).collect();
    let pods = (0..70).map(|number| Pod { controller: format!("{number} {evil}"), ..pod.clone() });
    let pods: Vec<_> = pods.collect();
    let model = |number| Model { name: format!("{number} {evil}"), pods: pods.clone(), ..pod16() };
    status.models = (0..40).map(model).collect();
    status.counters.job_tests.buckets = vec![Bucket { up_to: 1.0, count: u64::MAX }; 100];
    let text = text(&status);
    assert!(text.len() < 32 << 20, "{}", text.len());
    assert!(text.lines().all(|line| line.len() < 600 && !line.contains('\u{1b}')));
    assert!(text.contains(r#"cluster="?[2J?\"\\xxx"#), "the label is escaped");
    assert!(text.contains(r#"cause="other""#));
}

#[test]
fn cli_exporter_histograms_that_make_no_sense() {
    let bucket = |(up_to, count)| Bucket { up_to, count };
    let between = |buckets: &[(f64, u64)], count| {
        let buckets = buckets.iter().copied().map(bucket).collect();
        between_bounds(&Histogram { buckets, count, sum: 0.0 })
    };
    assert_eq!(between(&[], 3), [(f64::INFINITY, 3)]);
    assert_eq!(between(&[(1.0, 2), (2.0, 5)], 6), [(1.0, 2), (2.0, 3), (f64::INFINITY, 1)]);
    assert_eq!(between(&[(1.0, 2), (1.0, 3), (0.5, 9), (3.0, 1)], 1), [(1.0, 2), (f64::INFINITY, 0)]);
}

#[test]
fn cli_exporter_metrics_are_those_of_the_docs() {
    let docs = include_str!("../../../docs/monitoring.md");
    let rows = docs.lines().filter_map(|line| line.strip_prefix("| `vipu_"));
    let names = rows.filter_map(|row| Some(format!("vipu_{}", row.split_once('`')?.0)));
    // The page has tables of files, too.
    let documented: BTreeSet<_> = names.filter(|name| !name.contains('.')).collect();
    let text = text(&example());
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let total = |kind| if kind == "counter" { "_total" } else { "" };
    let written: BTreeSet<_> = families.map(|(name, kind)| format!("{name}{}", total(kind))).collect();
    assert_eq!(documented, written);
}

#[test]
fn cli_exporter_dashboard_has_a_colour_for_each_use_and_state() {
    let dashboard = include_str!("../../../monitoring/dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let colours = |title: &str| -> BTreeMap<String, String> {
        let panel = panels.iter().find(|panel| panel["title"] == title).unwrap();
        let overrides = panel["fieldConfig"]["overrides"].as_array().unwrap().iter();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let colour = |it: &serde_json::Value| text(&it["properties"][0]["value"]["fixedColor"]);
        overrides.map(|it| (text(&it["matcher"]["options"]), colour(it))).collect()
    };
    let text = text(&example());
    let labels = |family: &str, label: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| line.starts_with(family));
        lines.map(|line| line.split_once(label).unwrap().1.split('"').next().unwrap().to_owned()).collect()
    };
    let (uses, states) = (colours("IPUs by use"), colours("Partitions by state"));
    assert_eq!(uses.keys().cloned().collect::<BTreeSet<_>>(), labels("vipu_ipus{", "use=\""));
    assert_eq!(states.keys().cloned().collect::<BTreeSet<_>>(), labels("vipu_partitions{", "state=\""));
    assert_eq!(states, colours("Longest time in a state"));
    let (green, blue, red) = ("#009E73", "#56B4E9", "#E02F44");
    assert_eq!([&*uses["free"], &*uses["used"], &*uses["faulty"]], [green, blue, red]);
    assert_eq!([&*states["running"], &*states["failed"]], [blue, red]);
}
