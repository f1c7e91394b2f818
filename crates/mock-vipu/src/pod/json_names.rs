//! The API's words in JSON: methods and status codes by their gRPC names, patterns of names.

use serde::{Deserialize, Serialize};
use tonic::Code;
use vipu_client::{Call, code};

/// A method of the API, such as `CreatePartition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rpc(pub Call);

/// A status code, such as `RESOURCE_EXHAUSTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatusCode(pub Code);

/// A pattern of names in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether the whole of `name` follows the pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
        let Some(tail) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(tail)
    }
}

impl TryFrom<String> for Rpc {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let known = Call::ALL.into_iter().find(|call| call.method() == name);
        known.map(Self).ok_or_else(|| format!("the API has no method '{name}'"))
    }
}

impl From<Rpc> for String {
    fn from(rpc: Rpc) -> String {
        rpc.0.method().to_owned()
    }
}

impl TryFrom<String> for StatusCode {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        code::from_name(&name).map(Self).ok_or_else(|| format!("gRPC has no status code '{name}'"))
    }
}

impl From<StatusCode> for String {
    fn from(status: StatusCode) -> String {
        code::name(status.0).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let matches = |pattern: &str, name| Pattern(pattern.to_owned()).matches(name);
        for (pattern, name) in
            [("p1", "p1"), ("*", ""), ("slurm_*", "slurm_42"), ("*r1", "slurm_4r1"), ("a*b*c", "aXbYbZc")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("p1", "p10"), ("p1", "xp1"), ("slurm_*", "x_slurm_1"), ("a*a", "a"), ("a*b*c", "acb")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
