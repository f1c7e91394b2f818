//! `Prepare` in the cluster of a case.

use testbed::Settings;

use crate::step::Step;

/// The time at which a job's partition is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrepareMode {
    /// When the job has its nodes: the job waits on them, in CF.
    Configuring,
    /// While the job waits: `Prepare=all`.
    Prepared,
}

impl PrepareMode {
    pub const ALL: [Self; 2] = [Self::Configuring, Self::Prepared];

    /// Returns the end of the test's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Configuring => "",
            Self::Prepared => "_prepared",
        }
    }

    /// Returns the heading of the table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Configuring => "Partitions that are made when their jobs have nodes (`Prepare=no`)",
            Self::Prepared => "Partitions that are made while their jobs wait (`Prepare=all`)",
        }
    }

    /// Whether a job reaches this step. slurm-vipu does not launch a job that has its partition when it
    /// begins.
    pub fn has(self, step: Step) -> bool {
        self == Self::Configuring || step != Step::Launch
    }

    /// Sets this mode in a cluster that starts jobs soon.
    pub fn set(self, settings: Settings) -> Settings {
        match self {
            Self::Configuring => {
                settings.vipu_conf("Prepare=no").slurm_conf("SchedulerParameters=bf_interval=1")
            }
            // A job that backfill starts is not prepared.
            Self::Prepared => settings
                .vipu_conf("Prepare=all")
                .slurm_conf("SchedulerParameters=bf_interval=3600,sched_interval=1"),
        }
    }

    /// Returns the state of a job whose partition is being made.
    pub fn state_while_making(self) -> &'static str {
        match self {
            Self::Configuring => "CONFIGURING",
            Self::Prepared => "PENDING",
        }
    }
}
