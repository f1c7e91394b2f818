//! The journal's record of a partition, for the slurmctld that takes it over after a restart.

use vipu_types::{EndedBy, JobRun};

use crate::{Claim, Seconds};

/// A partition that may exist, according to the journal.
#[derive(Clone, Debug)]
pub struct RecordedPartition {
    /// The claim, as far as it is on record.
    pub claim: Claim,
    /// Whether the partition stays when its run is over, because it is of a pool or shared by all jobs.
    pub stays: bool,
    /// The time at which its run's batch script was launched.
    pub launched: Option<Seconds>,
    /// The stage that it had reached.
    pub stage: RecordedStage,
    /// Whether its files were durable.
    pub has_durable_files: bool,
}

/// The stage of a partition when slurmctld ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedStage {
    /// The partition was being made, or was up.
    Wanted,
    /// Its run failed, and it is kept until this time.
    Kept(Seconds),
    /// The partition was being removed.
    Removing,
    /// It was not to be used until this time: calls for it may still take effect, or processes of its job may be left.
    /// Unless it is of a pool, it was gone.
    Withheld(Seconds),
}

/// A run of a batch job that has ended, according to the journal. Slurm may not have saved that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRun {
    /// The run.
    pub run: JobRun,
    /// As in [`Claim`].
    pub task: Option<(u32, u32)>,
    /// The cause of its end.
    pub by: EndedBy,
    /// The time of its end.
    pub at: Seconds,
}
