//! Admission: manifests of all versions are accepted and mean what they meant, and bad ones are refused with what
//! would be right.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod changes;
mod definitions;
mod refusals;
mod samples;

use ipu_operator::admission::Site;
use serde_json::Value;
use vipu_types::IpuCount;

/// A manifest of the directory beside this file.
fn manifest(name: &str) -> Value {
    let path = format!("{}/tests/admission/manifests/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Replaces members of an object, as in `spec.jobInstances`. Null removes one.
fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (path, value) in changes {
        let (parents, member) = path.rsplit_once('.').unwrap();
        let parent = parents.split('.').fold(&mut object, |value, member| &mut value[member]);
        if value.is_null() {
            parent.as_object_mut().unwrap().remove(member);
        } else {
            parent[member] = value.clone();
        }
    }
    object
}

/// A site with one Pod64.
fn pod64() -> Site {
    let size = |ipus| IpuCount::new(ipus).unwrap();
    Site { largest: size(64), ipus: 64, link_domain: size(64) }
}
