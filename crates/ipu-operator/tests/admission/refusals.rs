//! Manifests that are refused, and the words of the refusal.

use ipu_operator::admission::{Site, validate};
use serde_json::{Value, json};
use vipu_types::IpuCount;

use crate::{manifest, pod64, with};

const IPUS: &str = "spec.ipusPerJobInstance";
const WORKERS: &str = "spec.workersPerJobInstance";
const INSTANCES: &str = "spec.jobInstances";
const LAUNCHER: &str = "spec.launcher";
const SESSION: &str = "spec.interactive";
const TEMPLATE: &str = "spec.workers.template";
const RESTART: &str = "spec.restartPolicy";
const CLEAN: &str = "spec.cleanPodPolicy";
const NAME: &str = "metadata.name";

fn answer(changes: &[(&str, Value)]) -> String {
    validate(&with(manifest("mnist"), changes), None, Some(&pod64())).line()
}

/// Each change makes the refusal of a field.
fn refused(cases: &[(&[(&str, Value)], &str)]) {
    for (changes, wanted) in cases {
        assert_eq!(answer(changes), *wanted, "{changes:?}");
    }
}

#[test]
fn k8s_a_size_is_refused_with_those_next_to_it() {
    refused(&[
        (
            &[(IPUS, json!("3"))],
            "spec.ipusPerJobInstance: 3 IPUs is not a power of two; valid: \"2\" or \"4\"",
        ),
        (
            &[(IPUS, json!(0))],
            "spec.ipusPerJobInstance: 0 is no count: write a whole number above 0, as in 4 or \"4\"",
        ),
        (
            &[(IPUS, json!("many"))],
            "spec.ipusPerJobInstance: \"many\" is no count: write a whole number above 0, as in 4 or \"4\"",
        ),
        (
            &[(IPUS, json!("-4"))],
            "spec.ipusPerJobInstance: \"-4\" is no count: write a whole number above 0, as in 4 or \"4\"",
        ),
        (
            &[(IPUS, Value::Null)],
            "spec.ipusPerJobInstance: it is missing; add the number of IPUs, as in \"4\"",
        ),
        (
            &[(IPUS, json!("128"))],
            "spec.ipusPerJobInstance: 128 IPUs are too many: the largest partition here has 64; valid: \"64\" or \
             less",
        ),
        (
            &[(INSTANCES, json!(0))],
            "spec.jobInstances: 0 is no count: a job has at least 1 instance; to end the job, delete it",
        ),
        (
            &[(INSTANCES, json!(-1))],
            "spec.jobInstances: -1 is no count: a job has at least 1 instance; to end the job, delete it",
        ),
        (
            &[(IPUS, json!(32)), (INSTANCES, json!(3))],
            "spec.jobInstances: 3 instances of 32 IPUs need 96 IPUs, and there are 64; valid: 2 or less",
        ),
    ]);
}

#[test]
fn k8s_counts_that_do_not_go_together_are_refused() {
    refused(&[
        (
            &[(IPUS, json!("4")), (WORKERS, json!("3"))],
            "spec.workersPerJobInstance: 4 IPUs cannot be divided among 3 workers, each with the same number; valid: \
             2 or 4",
        ),
        (
            &[(IPUS, json!("4")), (WORKERS, json!("8"))],
            "spec.workersPerJobInstance: 4 IPUs cannot be divided among 8 workers, each with the same number; valid: \
             4",
        ),
        (
            &[(IPUS, json!("4")), (WORKERS, json!("2")), ("spec.workers.replicas", json!(4))],
            "spec.workers.replicas: 4 is not workersPerJobInstance, which is 2; leave workers.replicas out",
        ),
        (
            &[(WORKERS, json!("2")), ("spec.workerPerJobInstance", json!("1"))],
            "spec.workerPerJobInstance: 1 is not workersPerJobInstance, which is 2; leave workerPerJobInstance out",
        ),
        (
            &[(IPUS, json!("4")), ("spec.modelReplicasPerWorker", json!("8"))],
            "spec.modelReplicasPerWorker: 4 IPUs cannot be divided among 8 replicas; valid for each \
             worker: 1, 2 or 4",
        ),
        (
            &[(IPUS, json!("4")), ("spec.modelReplicas", json!(4)), ("spec.ipusPerModelReplica", json!(2))],
            "spec.ipusPerJobInstance: 4 is not modelReplicas times ipusPerModelReplica, which is 8; leave these two \
             out",
        ),
    ]);
}

#[test]
fn k8s_an_unknown_word_is_refused_with_the_nearest_one() {
    refused(&[
        (
            &[(CLEAN, json!("none"))],
            "spec.cleanPodPolicy: 'none' is unknown; write None (known are None, Workers, All)",
        ),
        (
            &[(RESTART, json!({"type": "OnFail"}))],
            "spec.restartPolicy.type: 'OnFail' is unknown; write OnFailure (known are Never, OnFailure, Always, \
             ExitCode)",
        ),
        (
            &[(RESTART, json!("Never"))],
            "spec.restartPolicy: it is an object with a type, not a word; write restartPolicy: {type: Never}",
        ),
    ]);
}

#[test]
fn k8s_policies_times_and_parts_are_checked() {
    refused(&[
        (
            &[(RESTART, json!({"type": "ExitCode", "exitCodes": "143-130"}))],
            "spec.restartPolicy.exitCodes: '143-130' is no list of exit codes: write codes from 1 to 255 and ranges, \
             the lower one first, as in 130,143-150",
        ),
        (
            &[(RESTART, json!({"type": "Always", "backOffLimit": -1}))],
            "spec.restartPolicy.backOffLimit: -1 is no count: write the most restarts, 0 or more",
        ),
        (&[(SESSION, json!({"ttl": 0}))], "spec.interactive.ttl: 0 is no time: write seconds, at least 1"),
        (
            &[("spec.activeDeadlineSeconds", json!(-5))],
            "spec.activeDeadlineSeconds: -5 is no time: write seconds, at least 1",
        ),
        (
            &[(SESSION, json!({"ttl": 60})), (LAUNCHER, json!({"command": ["mpirun"]}))],
            "spec.interactive: a job has a launcher or a session; remove one of the two",
        ),
        (
            &[(LAUNCHER, json!({"command": []}))],
            "spec.launcher.command: it is empty; write the line that starts the program, such as [mpirun, -np, \
             \"1\", python3, train.py]",
        ),
        (
            &[(TEMPLATE, json!({}))],
            "spec.workers.template.spec.containers: there is no container; add one with the image of the program",
        ),
        (
            &[(TEMPLATE, json!({"spec": {"containers": [{"name": "a"}]}}))],
            "spec.workers.template.spec.containers[0].image: it is missing; add the program's image",
        ),
    ]);
}

#[test]
fn k8s_names_leave_room_for_those_of_pods() {
    assert_eq!(answer(&[(NAME, json!("x".repeat(50)))]), "");
    refused(&[
        (
            &[(NAME, json!("x".repeat(63)))],
            "metadata.name: it has 63 characters, and may have 50, as the names of its Pods add to it",
        ),
        (
            &[(NAME, Value::Null), ("metadata.generateName", json!("x".repeat(46)))],
            "metadata.generateName: it has 46 characters, and may have 45, as the names of its Pods add to it",
        ),
        (
            &[(NAME, json!("a.b")), (LAUNCHER, json!({"command": ["mpirun"]}))],
            "metadata.name: Pods of a launcher are hosts of MPI, which cuts their names at a dot; write a-b",
        ),
    ]);
}

#[test]
fn k8s_all_faults_of_a_manifest_are_told_at_once() {
    let line = answer(&[(INSTANCES, json!(0)), (IPUS, json!("3"))]);
    assert!(
        line.starts_with("spec.jobInstances: ") && line.contains("; spec.ipusPerJobInstance: "),
        "{line}"
    );
}

#[test]
fn k8s_a_fault_of_types_is_told_with_the_words_of_the_parser() {
    for (changes, part) in [
        ((INSTANCES, json!("1")), "invalid type: string \"1\", expected i32"),
        (("spec.workers", Value::Null), "missing field `workers`"),
        (
            (TEMPLATE, json!({"spec": {"containers": [{"name": 5}]}})),
            "spec.workers.template: it is no template of Pods: invalid type",
        ),
    ] {
        let line = answer(&[changes]);
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn k8s_more_than_64_ipus_are_valid_where_a_partition_may_have_them() {
    let size = |ipus| IpuCount::new(ipus).unwrap();
    let large = Site { largest: size(256), ipus: 256, link_domain: size(64) };
    let line = |ipus: u32, workers: u32| {
        let changes = [(IPUS, json!(ipus)), (WORKERS, json!(workers))];
        validate(&with(manifest("mnist"), &changes), None, Some(&large)).line()
    };
    assert_eq!([line(256, 4), line(128, 1)], ["", ""]);
    let one_replica = [(IPUS, json!("128")), ("spec.modelReplicasPerWorker", json!(1))];
    assert_eq!(
        validate(&with(manifest("mnist"), &one_replica), None, Some(&large)).line(),
        "spec.modelReplicasPerWorker: 128 IPUs are in 2 IPU-Link domains, and each has the same number of replicas; \
         the job has 1"
    );
    assert!(line(512, 8).contains("the largest partition here has 256"));
}

#[test]
fn k8s_without_an_answer_of_a_controller_any_size_is_accepted() {
    let manifest = with(manifest("mnist"), &[(IPUS, json!("4096"))]);
    assert!(validate(&manifest, None, None).is_accepted());
}
