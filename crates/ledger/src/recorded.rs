//! What a journal says of a partition, for whoever takes it over after a restart.

use crate::{Claim, Seconds};

/// A partition that may exist, as the journal has it.
#[derive(Clone, Debug)]
pub struct RecordedPartition {
    /// The claim, as far as it is on record.
    pub claim: Claim,
    /// When its run's batch script was launched.
    pub launched: Option<Seconds>,
    /// How far it had come.
    pub stage: RecordedStage,
}

/// How far a partition had come when slurmctld ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedStage {
    /// It was being made, or was up.
    Wanted,
    /// Its run failed, and it stays until then.
    Kept(Seconds),
    /// It was being removed.
    Removing,
    /// Its create was given up and never answered.
    GivenUp,
}
