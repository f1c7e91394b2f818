//! The reasons for which jobs wait.

use std::borrow::Cow;

/// The reason why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// For programs and for squeue: one of few texts, which docs/messages.md lists. It changes with the situation, and
    /// not with each number. It has none of the characters that separate fields.
    pub brief: Cow<'static, str>,
    /// For people: numbers, names and the words of others, in one line.
    pub line: String,
}

impl Reason {
    /// A reason with more to tell than its brief form.
    pub fn new(brief: impl Into<Cow<'static, str>>, line: impl Into<String>) -> Self {
        Self { brief: brief.into(), line: line.into() }
    }

    /// The reason with a line that tells more.
    #[must_use]
    pub fn telling(self, line: impl FnOnce(String) -> String) -> Self {
        Self { line: line(self.line), ..self }
    }
}

/// A reason with no more to tell.
impl From<&'static str> for Reason {
    fn from(brief: &'static str) -> Self {
        Self::new(brief, brief)
    }
}
