//! The custom resource definitions.

use ipu_operator::admission::validate;
use ipu_operator::api::{IpuJob, crds, crds_as_yaml};
use kube::core::cel::{validate_cel, validate_cel_update};
use serde_json::{Value, json};

use crate::{manifest, with};

/// Most bytes of an annotation. kubectl apply keeps the whole object in one.
const ANNOTATION: usize = 262_144;

#[test]
fn k8s_the_definitions_are_as_recorded() {
    let yaml = crds_as_yaml(true).unwrap();
    assert!(yaml.len() < ANNOTATION, "{} bytes", yaml.len());
    insta::assert_snapshot!(yaml);
}

#[test]
fn k8s_definitions_for_earlier_api_servers_differ_in_the_rules_alone() {
    let [with_rules, without] = [true, false].map(|rules| crds(rules).unwrap()[0].to_string());
    assert!(with_rules.contains("x-kubernetes-validations"));
    assert!(!without.contains("x-kubernetes-validations") && without.contains("x-kubernetes-int-or-string"));
}

fn job(changes: &[(&str, Value)]) -> (Value, IpuJob) {
    let manifest = with(manifest("mnist"), changes);
    (manifest.clone(), serde_json::from_value(manifest).unwrap())
}

/// Where the webhook cannot be asked, the rules still refuse what they can see.
#[test]
fn k8s_rules_and_webhook_say_the_same() {
    for (changes, is_right) in [
        (vec![], true),
        (vec![("spec.ipusPerJobInstance", json!(4))], true),
        (vec![("spec.ipusPerJobInstance", json!("3"))], false),
        (vec![("spec.ipusPerJobInstance", json!("many"))], false),
        (vec![("spec.ipusPerJobInstance", Value::Null)], false),
        (vec![("spec.jobInstances", json!(0))], false),
        (vec![("spec.workersPerJobInstance", json!("0"))], false),
        (vec![("spec.interactive", json!({"ttl": 0}))], false),
        (vec![("spec.interactive", json!({"ttl": 1})), ("spec.launcher", json!({"command": ["a"]}))], false),
        (vec![("metadata.name", json!("x".repeat(51)))], false),
    ] {
        let (manifest, job) = job(&changes);
        let by_rules = validate_cel(&job);
        assert_eq!(by_rules.is_ok(), is_right, "{changes:?}: {by_rules:?}");
        assert_eq!(validate(&manifest, None, None).is_accepted(), is_right, "{changes:?}");
    }
}

#[test]
fn k8s_rules_keep_the_size_of_a_job() {
    let (_, old) = job(&[]);
    for (ipus, is_right) in [(json!("1"), true), (json!(1), true), (json!("2"), false)] {
        let (_, new) = job(&[("spec.ipusPerJobInstance", ipus.clone())]);
        assert_eq!(validate_cel_update(&new, &old).is_ok(), is_right, "{ipus}");
    }
}
