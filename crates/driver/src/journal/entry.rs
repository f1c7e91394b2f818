//! The entries of the journal.

use std::path::PathBuf;

use ledger::{Claim, EndedRun, RecordedPartition, RecordedStage, Seconds};
use vipu_types::PartitionId;

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The partition is about to be made, or given to a run.
    Create {
        /// The claim of the partition.
        claim: Claim,
        /// The directory of its IPUoF files, if it gets any.
        ipuof_dir: Option<PathBuf>,
        /// Whether the partition is of a pool, and therefore never removed.
        stays: bool,
        /// The number of create calls so far without an answer and without a visible effect.
        unanswered: u32,
    },
    /// The partition is active and its files are durable.
    Created(PartitionId),
    /// The run's batch script was launched.
    Launched {
        /// The partition of the run.
        partition: PartitionId,
        /// The time of the launch.
        at: Seconds,
    },
    /// The run has failed, and the partition is kept.
    Kept {
        /// The partition.
        partition: PartitionId,
        /// The end of the time for which it is kept.
        until: Seconds,
    },
    /// The partition is about to be removed.
    Remove {
        /// The claim of the partition.
        claim: Claim,
        /// The number of its create calls without an answer and without a visible effect. None in entries of older
        /// versions.
        unanswered: Option<u32>,
    },
    /// No run gets the partition before a certain time.
    ///
    /// One of a pool stays, and processes of its last run may be left. Any other is gone, and so are its files, but calls
    /// that were sent for it may still take effect.
    Withheld {
        /// The claim of the partition.
        claim: Claim,
        /// The directory of its IPUoF files, if it is of a pool and had any.
        ipuof_dir: Option<PathBuf>,
        /// Whether the partition is of a pool.
        stays: bool,
        /// As in [`Entry::Remove`].
        unanswered: u32,
        /// The end of that time.
        until: Seconds,
    },
    /// The partition is gone, and so are its files.
    Gone(PartitionId),
    /// A launched run has ended on the partition.
    Ended {
        /// The partition.
        partition: PartitionId,
        /// The run and its end.
        ended: EndedRun,
    },
}

/// A partition that may exist, according to the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRecord {
    /// The claim of the partition.
    pub claim: Claim,
    /// The directory of its IPUoF files, if its create is on record and it was to get any.
    pub ipuof_dir: Option<PathBuf>,
    /// Whether the partition is of a pool, and therefore never removed.
    pub stays: bool,
    /// The stage that it had reached.
    pub stage: Stage,
    /// The end of the time for which it is kept after its run failed.
    pub kept_until: Option<Seconds>,
    /// The time at which its run's batch script was launched.
    pub launched: Option<Seconds>,
    /// The number of its create calls that are known to have no answer and no visible effect.
    pub unanswered: u32,
}

impl LiveRecord {
    /// Whether the end of the last create call is unknown. A partition whose run was launched was made.
    pub(crate) fn has_open_call(&self) -> bool {
        self.stage == Stage::Creating && !self.stays && self.launched.is_none()
    }

    /// Whether the partition may exist, or has files. Otherwise the journal only keeps its id from being used.
    pub fn may_exist(&self) -> bool {
        self.stays || !matches!(self.stage, Stage::Withheld(_))
    }

    /// Whether the partition was up, and its files were durable. All its create calls were answered then.
    pub fn was_up(&self) -> bool {
        match self.stage {
            Stage::Created => true,
            Stage::Removing => self.unanswered == 0,
            Stage::Creating | Stage::Withheld(_) => false,
        }
    }

    /// The end of the time for which it is kept, unless a later entry removes it.
    pub fn kept(&self) -> Option<Seconds> {
        let is_leaving = !matches!(self.stage, Stage::Creating | Stage::Created);
        self.kept_until.filter(|_| !is_leaving)
    }

    /// The record in the form that the front end needs.
    pub fn recorded(&self) -> RecordedPartition {
        let stage = match (self.stage, self.kept()) {
            (_, Some(until)) => RecordedStage::Kept(until),
            (Stage::Removing, None) => RecordedStage::Removing,
            (Stage::Withheld(until), None) => RecordedStage::Withheld(until),
            (Stage::Creating | Stage::Created, None) => RecordedStage::Wanted,
        };
        RecordedPartition {
            claim: self.claim.clone(),
            stays: self.stays,
            launched: self.launched,
            stage,
            has_durable_files: self.was_up(),
        }
    }
}

/// The stage of a partition in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The partition was about to be made.
    Creating,
    /// The partition was up, and its files were durable.
    Created,
    /// The partition was about to be removed.
    Removing,
    /// No run gets the partition before this time. Unless it is of a pool, it is gone.
    Withheld(Seconds),
}
