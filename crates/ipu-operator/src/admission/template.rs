//! The template of a job's Pods.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Map, Value};

use super::Verdict;

const TEMPLATE: &str = "spec.workers.template";

/// Checks the template of the workers. Members that are newer than this build pass.
pub(super) fn check(template: &Map<String, Value>, verdict: &mut Verdict) {
    let parsed: PodTemplateSpec = match serde_json::from_value(Value::Object(template.clone())) {
        Ok(parsed) => parsed,
        Err(error) => return verdict.refuse(TEMPLATE, format_args!("it is no template of Pods: {error}")),
    };
    let spec = parsed.spec.unwrap_or_default();
    let Some(main) = spec.containers.first() else {
        return verdict.refuse(
            format!("{TEMPLATE}.spec.containers"),
            "there is no container; add one with the image of the program",
        );
    };
    if main.image.as_deref().is_none_or(str::is_empty) {
        verdict
            .refuse(format!("{TEMPLATE}.spec.containers[0].image"), "it is missing; add the program's image");
    }
    if let Some(policy) = spec.restart_policy.filter(|policy| policy != "Never") {
        verdict.warn(format!(
            "{TEMPLATE}.spec.restartPolicy: {policy} has no effect, as the job restarts and not the Pod; use \
             spec.restartPolicy"
        ));
    }
    let metadata = template.get("metadata").and_then(Value::as_object);
    for member in ["name", "namespace", "finalizers", "ownerReferences", "generateName"] {
        if metadata.is_some_and(|metadata| metadata.contains_key(member)) {
            verdict.warn(format!("{TEMPLATE}.metadata.{member} has no effect: the operator sets it"));
        }
    }
}
