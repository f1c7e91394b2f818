//! Names that are checked once, where they are read.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::shown::shown;

/// A text that is no name of its kind, with the reason.
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
        #[serde(try_from = "String")]
        // Shared, because each waiting job and each claim has copies.
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text`.
            ///
            /// # Errors
            /// `text` breaks the rule for this kind of name. The error contains the rule.
            pub fn new(text: impl Into<String>) -> Result<Self, BadName> {
                let text = text.into();
                let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
                let rest_well =
                    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                if starts_well && rest_well && text.len() <= $max {
                    Ok(Self(text.into()))
                } else {
                    Err(BadName::new($kind, text, $rule))
                }
            }

            /// The name as text.
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

    };
}

name_type!(
    /// The id of a partition on its V-IPU controller.
    ///
    /// The controller's own rule is not public. This rule is the safest assumption.
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

impl ModelName {
    /// The model of the nodes whose GRES types are sizes of partitions ([`crate::GresType::Size`]).
    pub fn of_sizes() -> Self {
        Self("vipu".into())
    }

    /// The name as a text that shares its memory.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl PartitionId {
    /// The id of the first partition for a run of a job: [`PartitionId::further`] with 0.
    ///
    /// # Errors
    /// With this prefix, the controller could refuse the id.
    pub fn of_run(prefix: &str, job: u32, restart: u16) -> Result<Self, BadName> {
        Self::further(prefix, job, restart, 0)
    }

    /// An id of a partition for a run of a job: `<prefix>_<job>`, with `r<k>` for the k-th requeue and `p<n>`
    /// for the n-th further partition of the run.
    ///
    /// # Errors
    /// With this prefix, the controller could refuse the id.
    pub fn further(prefix: &str, job: u32, restart: u16, further: u16) -> Result<Self, BadName> {
        let mut id = format!("{prefix}_{job}");
        for (letter, number) in [('r', restart), ('p', further)] {
            if number > 0 {
                // Writing to a String cannot fail.
                let _ = write!(id, "{letter}{number}");
            }
        }
        Self::new(id)
    }

    /// The job, if [`PartitionId::further`] makes this id with that prefix, here or in an earlier version.
    pub fn job(&self, prefix: &str) -> Option<u32> {
        let numbers = self.0.strip_prefix(prefix)?.strip_prefix('_')?;
        let (numbers, further) = numbers.split_once('p').unwrap_or((numbers, "0"));
        let (job, restart) = numbers.split_once('r').unwrap_or((numbers, "0"));
        let (job, restart, further) = (job.parse().ok()?, restart.parse().ok()?, further.parse().ok()?);
        // Texts like `+7` or `07` are no numbers here.
        (Self::further(prefix, job, restart, further).as_ref() == Ok(self)).then_some(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_of_a_job_has_an_id_of_its_own() {
        let id = |restart, further| PartitionId::further("slurm", 42, restart, further).unwrap().to_string();
        assert_eq!([id(0, 0), id(3, 0), id(0, 1)], ["slurm_42", "slurm_42r3", "slurm_42p1"]);
        assert_eq!(id(3, 2), "slurm_42r3p2");
        assert_eq!(PartitionId::of_run("slurm", 42, 3).unwrap().as_str(), "slurm_42r3");
    }

    #[test]
    fn an_id_tells_the_job() {
        let job = |id: &str| PartitionId::new(id).unwrap().job("slurm");
        for ours in ["slurm_42", "slurm_42r3", "slurm_42p1", "slurm_42r3p65535"] {
            assert_eq!(job(ours), Some(42), "{ours}");
        }
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
            "slurm_4p0",
            "slurm_4p",
            "slurm_4p01",
            "slurm_4p1r1",
            "slurm_4p1p1",
            "slurm_4p65536",
            "slurm_4r1p",
            "slurm_4294967296",
        ] {
            assert_eq!(job(other), None, "{other}");
        }
    }

    #[test]
    fn bad_names_are_refused_with_the_rule() {
        for bad in ["", "4x", "a b", "a/b", "..", "../x", "/x", "a\0b", "a\nb", "-r", "é", &"x".repeat(37)] {
            let error = PartitionId::new(bad).unwrap_err().to_string();
            assert!(error.contains("at most 36 characters"), "{error}");
        }
    }
}
