//! The refusal of a call.

use tonic::Code;
use vipu_client::code;

/// The reason why a call is not carried out: a gRPC status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} ({})", code::name(*.code))]
pub struct Refusal {
    pub code: Code,
    pub text: String,
}

impl Refusal {
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self { code: Code::InvalidArgument, text: text.into() }
    }

    pub(crate) fn not_found(kind: &str, name: &str) -> Self {
        Self { code: Code::NotFound, text: format!("no {kind} '{name}'") }
    }

    pub(crate) fn no_room(text: impl Into<String>) -> Self {
        Self { code: Code::ResourceExhausted, text: text.into() }
    }

    pub(crate) fn not_ready(text: impl Into<String>) -> Self {
        Self { code: Code::FailedPrecondition, text: text.into() }
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.text)
    }
}
