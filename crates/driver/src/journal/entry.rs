//! The entries, and how they are written.

use std::path::PathBuf;

use ledger::Claim;
use serde::{Deserialize, Serialize};
use vipu_types::{IpuCount, JobRun, ModelName, PartitionId};

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The partition is about to be made.
    Create {
        /// Whose it is.
        #[serde(with = "ClaimFields")]
        claim: Claim,
        /// Where its IPUoF files go.
        ipuof_dir: PathBuf,
    },
    /// The partition is active and its files are written.
    Created(PartitionId),
    /// The partition is about to be removed.
    Remove {
        /// Whose it is.
        #[serde(with = "ClaimFields")]
        claim: Claim,
    },
    /// The partition is gone, and so are its files.
    Gone(PartitionId),
}

/// The form of a [`Claim`] in the journal.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Claim")]
struct ClaimFields {
    partition: PartitionId,
    run: JobRun,
    user: u32,
    model: ModelName,
    size: IpuCount,
}

/// A partition that may exist, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    /// Whose it is.
    pub claim: Claim,
    /// Where its IPUoF files went, when its create is on record.
    pub ipuof_dir: Option<PathBuf>,
    /// How far it had come.
    pub stage: Stage,
}

/// How far a partition had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was about to be made.
    Creating,
    /// It was up.
    Created,
    /// It was about to be removed.
    Removing,
}
