//! The bill of materials, in the format of CycloneDX.

use anyhow::Result;
use serde_json::{Value, json};

use super::Release;
use super::linked::Crate;

pub fn file_name(release: &Release) -> String {
    format!("slurm-vipu-{}.cdx.json", release.version)
}

/// The document. It has no serial number, so that two builds have the same bytes.
pub fn document(release: &Release, crates: &[Crate]) -> Result<String> {
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.date("%Y-%m-%dT%H:%M:%SZ")?,
            "component": { "type": "application", "name": "slurm-vipu", "version": release.version },
        },
        "components": crates.iter().map(component).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(of: &Crate) -> Value {
    let Crate { name, version, licence, .. } = of;
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{ "expression": licence }],
    });
    // A purl of this kind names a crate of crates.io, where ours are not.
    if let Some(checksum) = &of.checksum {
        component["purl"] = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")).into();
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}
