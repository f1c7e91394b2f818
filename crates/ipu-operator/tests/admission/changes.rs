//! Changes of a job that exists.

use ipu_operator::admission::validate;
use serde_json::{Value, json};

use crate::{manifest, pod64, with};

fn answer(changes: &[(&str, Value)]) -> String {
    let old = manifest("mnist");
    validate(&with(old.clone(), changes), Some(&old), Some(&pod64())).line()
}

#[test]
fn k8s_a_job_keeps_its_size_and_changes_its_instances() {
    assert_eq!(answer(&[("spec.jobInstances", json!(4))]), "");
    assert_eq!(answer(&[("spec.ipusPerJobInstance", json!(1))]), "", "the same in another form");
    assert_eq!(
        answer(&[("spec.ipusPerJobInstance", json!("2"))]),
        "spec.ipusPerJobInstance: 1 IPU of an instance cannot change in a job; delete it, and create it anew"
    );
    let workers = answer(&[("spec.modelReplicasPerWorker", json!("1"))]);
    assert!(workers.starts_with("spec.workersPerJobInstance: workers and replicas"), "{workers}");
    let instances = answer(&[("spec.jobInstances", json!(65))]);
    assert!(instances.contains("need 65 IPUs, and there are 64"), "{instances}");
}

#[test]
fn k8s_a_fault_is_never_in_the_way_of_the_end() {
    let faulty = with(manifest("mnist"), &[("spec.ipusPerJobInstance", json!("3"))]);
    let labelled = with(faulty.clone(), &[("metadata.labels", json!({"a": "b"}))]);
    assert!(validate(&labelled, Some(&faulty), Some(&pod64())).is_accepted(), "the spec is as before");
    let deleted = with(faulty.clone(), &[("metadata.deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    assert!(validate(&deleted, Some(&manifest("mnist")), Some(&pod64())).is_accepted());
    assert!(!validate(&faulty, None, None).is_accepted());
}
