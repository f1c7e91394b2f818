//! The phases of a claim, and what each of them means.

use crate::Seconds;

/// How far a claim has come. Each phase is entered with the action whose answer leaves it, so no
/// claim can be stuck in one; and each says which gates of its run are raised, so no gate is
/// opened twice or forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The job waits in line, and its partition is being made already. No gate is raised.
    Preparing(Making),
    /// The same, and the partition is there.
    Prepared,
    /// The create was asked for, but not sent yet. Launch gate raised.
    Claimed,
    /// The create call was sent. Launch gate raised.
    Creating,
    /// There is no room after all, nor will there be soon: the create was told to end early. Launch gate
    /// raised.
    GivenUp {
        /// What there is instead of room.
        reason: String,
    },
    /// The partition is there; the launch gate is being opened.
    Ready,
    /// The job has its partition.
    Running,
    /// There will be no partition; the run is being ended. Launch gate raised.
    Failed {
        /// The controller's or the file system's own words.
        reason: String,
    },
    /// The run failed, and its partition stays for a while; that is being put on record.
    Keeping {
        /// Until when.
        until: Seconds,
        /// What the answer has to open.
        gates: Gates,
    },
    /// The run failed, and its partition stays for a while. No gate is raised.
    Kept {
        /// Until when.
        until: Seconds,
    },
    /// The run ended; the partition has to go.
    Releasing {
        /// What is waited for.
        step: Step,
        /// What the last action has to open.
        gates: Gates,
    },
}

/// How far a partition is that is made before its job has nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// The create was asked for, but not sent yet.
    Claimed,
    /// The create call was sent.
    Creating,
}

/// The way of a partition out, in this order; only the first can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The answer of the create: a remove must not overtake it.
    CreateAnswer,
    /// The job's nodes.
    Nodes,
    /// The removal.
    Removal,
}

/// The gates still raised for a run that ended. A launch gate alone is not among them: it is
/// lowered at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gates {
    /// None: Slurm waits for nothing.
    Open,
    /// The completion gate.
    Completion,
    /// The completion gate, and the launch gate that was never opened.
    Both,
}

/// What a phase waits for. But for [`Awaits::JobStart`], [`Awaits::JobEnd`] and [`Awaits::KeepEnd`] there is
/// exactly one action under way whose answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaits {
    /// An answer of [`crate::DriverAction::Create`].
    Create,
    /// The start of the job, which Slurm tells, or word that it is not to have the partition.
    JobStart,
    /// An answer of [`crate::HostAction::OpenLaunch`].
    Launch,
    /// The end of the job, which Slurm tells.
    JobEnd,
    /// An answer of [`crate::HostAction::FailRun`] or [`crate::HostAction::SendBack`].
    RunFailed,
    /// An answer of [`crate::DriverAction::Keep`].
    Record,
    /// Word that the partition of a failed run has stayed for long enough.
    KeepEnd,
    /// An answer of [`crate::HostAction::AwaitNodes`].
    Nodes,
    /// An answer of [`crate::DriverAction::Remove`].
    Removal,
}

impl Phase {
    /// The job has no nodes yet.
    #[must_use]
    pub fn is_early(&self) -> bool {
        matches!(self, Phase::Preparing(_) | Phase::Prepared)
    }

    /// The partition is there, and nothing is being done about it.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self, Phase::Prepared | Phase::Running | Phase::Kept { .. })
    }

    /// The controller is being asked for it.
    pub(crate) fn is_asked_for(&self) -> bool {
        matches!(self, Phase::Preparing(_) | Phase::Claimed | Phase::Creating)
    }

    /// The run has not ended: it is the one that [`crate::Event::Fini`] of its job ends.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !(self.is_kept() || matches!(self, Phase::Releasing { .. }))
    }

    /// The run failed, and its partition stays for a while.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Phase::Keeping { .. } | Phase::Kept { .. })
    }

    /// The launch gate of the run is raised, and nobody was told to open it.
    #[must_use]
    pub fn launch_raised(&self) -> bool {
        match self {
            Phase::Claimed | Phase::Creating | Phase::GivenUp { .. } | Phase::Failed { .. } => true,
            Phase::Preparing(_) | Phase::Prepared | Phase::Ready | Phase::Running | Phase::Kept { .. } => {
                false
            }
            Phase::Keeping { gates, .. } | Phase::Releasing { gates, .. } => *gates == Gates::Both,
        }
    }

    /// The completion gate of the run is raised.
    #[must_use]
    pub fn completion_raised(&self) -> bool {
        let (Phase::Keeping { gates, .. } | Phase::Releasing { gates, .. }) = self else { return false };
        *gates != Gates::Open
    }

    /// What this phase waits for.
    #[must_use]
    pub fn awaits(&self) -> Awaits {
        match self {
            Phase::Preparing(_) | Phase::Claimed | Phase::Creating | Phase::GivenUp { .. } => Awaits::Create,
            Phase::Prepared => Awaits::JobStart,
            Phase::Ready => Awaits::Launch,
            Phase::Running => Awaits::JobEnd,
            Phase::Failed { .. } => Awaits::RunFailed,
            Phase::Keeping { .. } => Awaits::Record,
            Phase::Kept { .. } => Awaits::KeepEnd,
            Phase::Releasing { step: Step::CreateAnswer, .. } => Awaits::Create,
            Phase::Releasing { step: Step::Nodes, .. } => Awaits::Nodes,
            Phase::Releasing { step: Step::Removal, .. } => Awaits::Removal,
        }
    }
}
