//! The answer to a manifest: refusals that name the field, and warnings.

use std::fmt;

/// The answer to a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why the manifest is refused. Empty if it is accepted.
    pub refusals: Vec<Refusal>,
    /// What its user should know. kubectl prints these.
    pub warnings: Vec<String>,
}

/// One fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path of the field, as in `spec.ipusPerJobInstance`.
    pub field: String,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl Verdict {
    pub(super) fn refuse(&mut self, field: impl Into<String>, text: impl fmt::Display) {
        self.refusals.push(Refusal { field: field.into(), text: text.to_string() });
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    /// Whether the manifest is accepted.
    pub fn is_accepted(&self) -> bool {
        self.refusals.is_empty()
    }

    /// All refusals in one line for the user.
    pub fn line(&self) -> String {
        self.refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.text)
    }
}
