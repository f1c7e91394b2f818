//! Names that cross a boundary and are checked once, on the way in.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shown::shown;

/// Why a text is not a name of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} '{text}': {rule}")]
pub struct BadName {
    kind: &'static str,
    text: String,
    rule: &'static str,
}

impl BadName {
    pub(crate) fn new(kind: &'static str, text: String, rule: &'static str) -> Self {
        Self { kind, text: shown(&text), rule }
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:literal, $rule:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text`.
            ///
            /// # Errors
            /// When `text` breaks the rule of this kind of name; the error says the rule.
            pub fn new(text: impl Into<String>) -> Result<Self, BadName> {
                let text = text.into();
                let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
                let rest_well =
                    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                if starts_well && rest_well && text.len() <= $max {
                    Ok(Self(text))
                } else {
                    Err(BadName::new($kind, text, $rule))
                }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name_type!(
    /// The id of a partition on its V-IPU controller.
    ///
    /// The controller's own rule is not public; this is the safest assumption.
    PartitionId,
    "partition id",
    36,
    "a letter, then letters, digits, '_' or '-', at most 36 characters"
);

name_type!(
    /// The GRES type that names a Pod model, as `pod64` in `--gres=vipu:pod64:16`.
    ModelName,
    "model",
    64,
    "a letter, then letters, digits, '_' or '-', at most 64 characters"
);

impl PartitionId {
    /// The id of the partition of one run of a job: `<prefix>_<job>`, with `r<k>` for the k-th requeue.
    ///
    /// # Errors
    /// When the prefix makes an id the controller could refuse.
    pub fn of_run(prefix: &str, job: u32, restart: u16) -> Result<Self, BadName> {
        match restart {
            0 => Self::new(format!("{prefix}_{job}")),
            k => Self::new(format!("{prefix}_{job}r{k}")),
        }
    }

    /// The job and the number of its requeues, if this is the id of a run with that prefix.
    #[must_use]
    pub fn run(&self, prefix: &str) -> Option<(u32, u16)> {
        let number = self.0.strip_prefix(prefix)?.strip_prefix('_')?;
        let (job, restart) = number.split_once('r').unwrap_or((number, "0"));
        let run = (job.parse().ok()?, restart.parse().ok()?);
        // Not `+7` or `07`.
        (Self::of_run(prefix, run.0, run.1).as_ref() == Ok(self)).then_some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requeue_gets_a_name_of_its_own() {
        assert_eq!(PartitionId::of_run("slurm", 42, 0).unwrap().as_str(), "slurm_42");
        assert_eq!(PartitionId::of_run("slurm", 42, 3).unwrap().as_str(), "slurm_42r3");
    }

    #[test]
    fn the_id_of_a_run_tells_the_run() {
        let run = |id: &str| PartitionId::new(id).unwrap().run("slurm");
        assert_eq!(run("slurm_42"), Some((42, 0)));
        assert_eq!(run("slurm_42r3"), Some((42, 3)));
        for other in [
            "slurm",
            "slurm_",
            "slurm_042",
            "slurm_4r0",
            "slurm_4r",
            "slurm_x",
            "slurms_4",
            "p_4",
            "slurm_4-1",
        ] {
            assert_eq!(run(other), None, "{other}");
        }
    }

    #[test]
    fn bad_names_are_refused_with_the_rule() {
        for bad in ["", "4x", "a b", "a/b", "é", &"x".repeat(37)] {
            let error = PartitionId::new(bad).unwrap_err().to_string();
            assert!(error.contains("at most 36 characters"), "{error}");
        }
    }
}
