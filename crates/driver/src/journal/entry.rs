//! The entries.

use std::path::PathBuf;

use ledger::{Claim, RecordedPartition, RecordedStage, Seconds};
use vipu_types::PartitionId;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The partition is about to be made.
    Create {
        /// Whose it is.
        claim: Claim,
        /// Where its IPUoF files go, if it gets any.
        ipuof_dir: Option<PathBuf>,
    },
    /// The partition is active and its files are written.
    Created(PartitionId),
    /// The run's batch script was launched.
    Launched {
        /// On which partition.
        partition: PartitionId,
        /// When.
        at: Seconds,
    },
    /// The run has failed, and the partition stays.
    Kept {
        /// Which.
        partition: PartitionId,
        /// Until when.
        until: Seconds,
    },
    /// The partition is about to be removed.
    Remove {
        /// Whose it is.
        claim: Claim,
    },
    /// The partition is gone, and so are its files.
    Gone(PartitionId),
}

/// A partition that may exist, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    /// Whose it is.
    pub claim: Claim,
    /// Where its IPUoF files went, if its create is on record and it was to get any.
    pub ipuof_dir: Option<PathBuf>,
    /// How far it had come.
    pub stage: Stage,
    /// Until when it stays though its run has failed.
    pub kept_until: Option<Seconds>,
    /// When its run's batch script was launched.
    pub launched: Option<Seconds>,
}

impl LiveRecord {
    /// Until when it stays, if that was the last word.
    #[must_use]
    pub fn kept(&self) -> Option<Seconds> {
        let is_leaving = matches!(self.stage, Stage::Removing | Stage::GivenUp);
        self.kept_until.filter(|_| !is_leaving)
    }

    /// What the front end wants to know of it.
    #[must_use]
    pub fn recorded(&self) -> RecordedPartition {
        let stage = match (self.stage, self.kept()) {
            (_, Some(until)) => RecordedStage::Kept(until),
            (Stage::Removing, None) => RecordedStage::Removing,
            (Stage::GivenUp, None) => RecordedStage::GivenUp,
            (Stage::Creating | Stage::Created, None) => RecordedStage::Wanted,
        };
        RecordedPartition { claim: self.claim.clone(), launched: self.launched, stage }
    }
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
    /// It was about to be removed before it was up: a create call may not have been answered.
    GivenUp,
}
