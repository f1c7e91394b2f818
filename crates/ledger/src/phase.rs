//! The phases of a claim and their meaning.

use vipu_types::Words;

use crate::Seconds;

/// The phase of a claim. Each phase is entered with the action whose answer leaves it, so no claim can be
/// stuck in one. Each phase says which gates of its run are raised, so no gate is opened twice or forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The job waits in line, and its partition is being made already. No gate is raised.
    Preparing(Making),
    /// The job waits in line, and its partition is up. No gate is raised.
    Prepared,
    /// The create was given to the driver but not sent yet. Launch gate raised.
    Claimed,
    /// The create call was sent. Launch gate raised.
    Creating,
    /// There is no room, and there will be none soon. The create was told to end early. Launch gate raised.
    GivenUp {
        /// The reason why there is no room.
        reason: Words,
    },
    /// The partition is up, and the launch gate is being opened.
    Ready,
    /// The job has its partition.
    Running,
    /// There will be no partition. The run is being ended. Launch gate raised.
    Failed {
        /// The controller's or the file system's own words.
        reason: Words,
    },
    /// The run failed, and its partition is kept for a while. The journal entry is being written.
    Keeping {
        /// The end of that time.
        until: Seconds,
        /// The gates that the answer opens.
        gates: Gates,
    },
    /// The run failed, and its partition is kept for a while. No gate is raised.
    Kept {
        /// The end of that time.
        until: Seconds,
    },
    /// The partition has no run. It is given to the next job that fits, or removed.
    Idle {
        /// Whether it was reset after its last run.
        is_reset: bool,
    },
    /// The run ended, and the partition becomes idle or is removed.
    Releasing {
        /// The step that is waited for.
        step: Step,
        /// The gates that the last action opens.
        gates: Gates,
    },
}

/// The progress of a create for a job that has no nodes yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// The create was given to the driver but not sent yet.
    Claimed,
    /// The create call was sent.
    Creating,
}

/// The steps of a release, in order. The removal follows a failed MakeIdle. The first step can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The create's answer, because a remove must not overtake the create.
    CreateAnswer,
    /// The job's nodes.
    Nodes,
    /// The deletion of the files of a partition that stays idle, and its reset.
    MakeIdle {
        /// Whether it is reset.
        reset: bool,
    },
    /// The removal.
    Removal,
}

/// The gates still raised for a run that ended. A launch gate alone is not among them, because it is lowered
/// at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gates {
    /// None. Slurm waits for nothing.
    Open,
    /// The completion gate.
    Completion,
    /// The completion gate, and the launch gate that was never opened.
    Both,
}

/// The event that a phase waits for. Except for [`Awaits::JobStart`], [`Awaits::JobEnd`],
/// [`Awaits::KeepEnd`] and [`Awaits::Reuse`], it is the answer of exactly one action under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaits {
    /// An answer of [`crate::DriverAction::Create`].
    Create,
    /// The start of the job, told by Slurm, or the message that the job does not get the partition.
    JobStart,
    /// An answer of [`crate::HostAction::OpenLaunch`].
    Launch,
    /// The end of the job, told by Slurm.
    JobEnd,
    /// An answer of [`crate::HostAction::FailRun`] or [`crate::HostAction::SendBack`].
    RunFailed,
    /// An answer of [`crate::DriverAction::Keep`].
    Record,
    /// The message that the partition of a failed run was kept long enough.
    KeepEnd,
    /// An answer of [`crate::HostAction::AwaitNodes`].
    Nodes,
    /// An answer of [`crate::DriverAction::MakeIdle`].
    Idle,
    /// The next job of an idle partition, or the end of its time.
    Reuse,
    /// An answer of [`crate::DriverAction::Remove`].
    Removal,
}

impl Phase {
    /// Whether the job has no nodes yet.
    pub fn is_early(&self) -> bool {
        matches!(self, Phase::Preparing(_) | Phase::Prepared)
    }

    /// Whether the partition is up and no action for it is under way.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self, Phase::Prepared | Phase::Running | Phase::Kept { .. } | Phase::Idle { .. })
    }

    /// Whether the controller is being asked for the partition.
    pub(crate) fn is_asked_for(&self) -> bool {
        matches!(self, Phase::Preparing(_) | Phase::Claimed | Phase::Creating)
    }

    /// Whether the run has not ended. [`crate::Event::Fini`] of its job ends this run.
    pub fn is_live(&self) -> bool {
        !(self.is_kept() || matches!(self, Phase::Idle { .. } | Phase::Releasing { .. }))
    }

    /// Whether the run failed and its partition is kept for a while.
    pub fn is_kept(&self) -> bool {
        matches!(self, Phase::Keeping { .. } | Phase::Kept { .. })
    }

    /// Whether the partition has no run and stays.
    pub fn is_idle(&self) -> bool {
        matches!(self, Phase::Idle { .. })
    }

    /// Whether the launch gate of the run is raised and no action to open it was given.
    pub fn launch_raised(&self) -> bool {
        match self {
            Phase::Claimed | Phase::Creating | Phase::GivenUp { .. } | Phase::Failed { .. } => true,
            Phase::Preparing(_)
            | Phase::Prepared
            | Phase::Ready
            | Phase::Running
            | Phase::Kept { .. }
            | Phase::Idle { .. } => false,
            Phase::Keeping { gates, .. } | Phase::Releasing { gates, .. } => *gates == Gates::Both,
        }
    }

    /// Whether the completion gate of the run is raised.
    pub fn completion_raised(&self) -> bool {
        let (Phase::Keeping { gates, .. } | Phase::Releasing { gates, .. }) = self else { return false };
        *gates != Gates::Open
    }

    /// The event that this phase waits for.
    pub fn awaits(&self) -> Awaits {
        match self {
            Phase::Preparing(_) | Phase::Claimed | Phase::Creating | Phase::GivenUp { .. } => Awaits::Create,
            Phase::Prepared => Awaits::JobStart,
            Phase::Ready => Awaits::Launch,
            Phase::Running => Awaits::JobEnd,
            Phase::Failed { .. } => Awaits::RunFailed,
            Phase::Keeping { .. } => Awaits::Record,
            Phase::Kept { .. } => Awaits::KeepEnd,
            Phase::Idle { .. } => Awaits::Reuse,
            Phase::Releasing { step: Step::MakeIdle { .. }, .. } => Awaits::Idle,
            Phase::Releasing { step: Step::CreateAnswer, .. } => Awaits::Create,
            Phase::Releasing { step: Step::Nodes, .. } => Awaits::Nodes,
            Phase::Releasing { step: Step::Removal, .. } => Awaits::Removal,
        }
    }
}
