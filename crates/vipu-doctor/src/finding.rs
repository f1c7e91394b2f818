//! What a check finds.

use std::fmt;

use serde::Serialize;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Jobs fail or wait, or the IPUs of a job are open to others.
    Error,
    /// Jobs run now, but something is wrong or will be.
    Warning,
    /// Nothing is wrong, but the site may want to know or to do better.
    Hint,
}

impl Level {
    /// The word for people and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}

/// One thing that is wrong, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its weight.
    pub level: Level,
    /// The file with its line, or the thing that is wrong.
    pub subject: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do.
    pub fix: String,
}

impl Finding {
    pub(crate) fn error(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Error, subject: subject.into(), what: what.into(), fix: fix.into() }
    }

    pub(crate) fn warning(
        subject: impl Into<String>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { level: Level::Warning, ..Self::error(subject, what, fix) }
    }

    pub(crate) fn hint(subject: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Hint, ..Self::error(subject, what, fix) }
    }
}

/// The finding in one line, without its level.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.subject, self.what, self.fix)
    }
}

/// All findings about a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// The name of the host.
    pub host: String,
    /// What the host is in the cluster.
    pub roles: Vec<&'static str>,
    /// The slurm.conf of the host, if there is one.
    pub slurm_conf: Option<String>,
    /// The release of Slurm, if it is known.
    pub slurm: Option<String>,
    /// The findings, the errors first.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// The number of findings of a level.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}
