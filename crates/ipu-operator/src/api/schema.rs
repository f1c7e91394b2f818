//! Schemas that cannot be derived.

use schemars::{Schema, SchemaGenerator, json_schema};

/// An object whose members the API server keeps as they are, whatever its own release knows of them.
pub(super) fn kept_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Variables of a container. Each has a name; sources of values that are newer than this build pass.
pub(super) fn variables(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": true,
        },
    })
}
