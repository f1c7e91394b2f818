//! What is left.

use std::fmt;

/// Something that is left of slurm-vipu.
pub struct Left {
    subject: String,
    what: String,
    /// What the administrator does about it.
    fix: String,
}

impl Left {
    pub fn new(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.subject, self.what, self.fix)
    }
}
