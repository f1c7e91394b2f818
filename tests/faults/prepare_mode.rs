//! `Prepare` in the cluster of a case: when a job's partition is made.

use testbed::Settings;

use crate::step::Step;

/// When a job's partition is made: before the job has nodes, or once it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrepareMode {
    /// When it has its nodes: it waits on them, in CF.
    Configuring,
    /// While it waits: `Prepare=all`.
    Prepared,
}

impl PrepareMode {
    pub const ALL: [Self; 2] = [Self::Configuring, Self::Prepared];

    /// What the name of a test ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Configuring => "",
            Self::Prepared => "_prepared",
        }
    }

    /// For the heading of a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Configuring => "Partitions that are made when their jobs have nodes (`Prepare=no`)",
            Self::Prepared => "Partitions that are made while their jobs wait (`Prepare=all`)",
        }
    }

    /// Whether a job comes to this step: who has his partition as he begins has no launch of ours.
    pub fn has(self, step: Step) -> bool {
        self == Self::Configuring || step != Step::Launch
    }

    /// Has a cluster make partitions so, and start jobs soon.
    pub fn set(self, settings: Settings) -> Settings {
        match self {
            Self::Configuring => {
                settings.vipu_conf("Prepare=no").slurm_conf("SchedulerParameters=bf_interval=1")
            }
            // What backfill starts is not prepared.
            Self::Prepared => settings
                .vipu_conf("Prepare=all")
                .slurm_conf("SchedulerParameters=bf_interval=3600,sched_interval=1"),
        }
    }

    /// The state of a job whose partition is being made.
    pub fn state_while_making(self) -> &'static str {
        match self {
            Self::Configuring => "CONFIGURING",
            Self::Prepared => "PENDING",
        }
    }
}
