//! The way in which the job of a case gets its partition, and the settings for that.

use testbed::Settings;

use crate::step::Step;

/// The way in which a job gets its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The partition is made when the job has its nodes: the job waits on them, in CF.
    Configuring,
    /// The partition is made while the job waits: `Prepare=all`.
    Prepared,
    /// The partition is the idle one of another user's job, and is reset first: `KeepIdle`.
    Reused,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Configuring, Self::Prepared, Self::Reused];

    /// Returns the end of the test's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Configuring => "",
            Self::Prepared => "_prepared",
            Self::Reused => "_reused",
        }
    }

    /// Returns the heading of the table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Configuring => "Partitions that are made when their jobs have nodes (`Prepare=no`)",
            Self::Prepared => "Partitions that are made while their jobs wait (`Prepare=all`)",
            Self::Reused => "Idle partitions of another user's job (`KeepIdle`, `ReuseReset=other-users`)",
        }
    }

    /// Whether a job reaches this step. slurm-vipu does not launch a job that has its partition when it
    /// begins.
    pub fn has(self, step: Step) -> bool {
        match self {
            Self::Configuring => !step.is_of_reuse(),
            Self::Prepared => !step.is_of_reuse() && step != Step::Launch,
            Self::Reused => !step.is_of_create() && !step.is_of_removal(),
        }
    }

    /// Sets this mode in a cluster that starts jobs soon.
    pub fn set(self, settings: Settings) -> Settings {
        let at_once = |settings: Settings| {
            settings.vipu_conf("Prepare=no").slurm_conf("SchedulerParameters=bf_interval=1")
        };
        match self {
            Self::Configuring => at_once(settings),
            // A job that backfill starts is not prepared.
            Self::Prepared => settings
                .vipu_conf("Prepare=all")
                .slurm_conf("SchedulerParameters=bf_interval=3600,sched_interval=1"),
            Self::Reused => at_once(settings)
                .vipu_conf("KeepIdle=20")
                .vipu_conf("KeepIdleFor=any-job")
                .vipu_conf("ReuseReset=other-users")
                .vipu_conf("ReconcileInterval=2"),
        }
    }

    /// Returns the state of a job whose partition is being made.
    pub fn state_while_making(self) -> &'static str {
        match self {
            Self::Configuring | Self::Reused => "CONFIGURING",
            Self::Prepared => "PENDING",
        }
    }
}
