//! The custom resource definitions, as the API server gets them.

use kube::CustomResourceExt as _;
use serde_json::Value;

use super::{IpuJob, IpuPartition};

/// The key of rules in a schema. API servers before 1.25 refuse or drop it.
const RULES: &str = "x-kubernetes-validations";

/// The definitions of both kinds, with or without rules.
///
/// # Errors
/// A definition is no JSON. That would be a bug of this build.
pub fn crds(rules: bool) -> Result<[Value; 2], serde_json::Error> {
    let mut crds = [serde_json::to_value(IpuJob::crd())?, serde_json::to_value(IpuPartition::crd())?];
    for schema in &mut crds {
        // A field that is null counts as one that is not there, as with the vendor's definition.
        strip(schema, "nullable");
        if !rules {
            strip(schema, RULES);
        }
    }
    Ok(crds)
}

/// The definitions as one file of YAML.
///
/// # Errors
/// A definition cannot be written. That would be a bug of this build.
pub fn crds_as_yaml(rules: bool) -> Result<String, Box<dyn std::error::Error>> {
    let [jobs, partitions] = crds(rules)?;
    Ok(format!("{}---\n{}", serde_saphyr::to_string(&jobs)?, serde_saphyr::to_string(&partitions)?))
}

/// Removes a key everywhere in a definition.
fn strip(schema: &mut Value, key: &str) {
    match schema {
        Value::Object(members) => {
            members.remove(key);
            members.values_mut().for_each(|value| strip(value, key));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, key)),
        _ => {}
    }
}
