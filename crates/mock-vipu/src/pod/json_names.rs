//! The API's words in JSON: methods and status codes by their gRPC names.

use serde::{Deserialize, Serialize};
use tonic::Code;
use vipu_client::{Call, code};

/// A method of the API, for example `CreatePartition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rpc(pub Call);

/// A status code, for example `RESOURCE_EXHAUSTED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatusCode(pub Code);

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
