//! The step of a job's life at which the fault strikes.

use mock_vipu::{Effect, Fault, Rpc};
use testbed::Failpoint;
use vipu_client::Call;

/// A step in the life of a job with IPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// slurmctld checks the job's request.
    Submit,
    /// The scheduler asks whether the job may start.
    Test,
    /// The job has its nodes.
    Begin,
    /// The controller was asked to reset the idle partition for the job, and has not answered.
    ResetSent,
    /// The controller has answered the reset.
    ResetAcknowledged,
    /// The intent is on disk.
    Intent,
    /// The controller was asked for the partition and has not answered.
    CreateSent,
    /// The controller has answered the create.
    CreateAcknowledged,
    /// The partition is ready.
    Active,
    /// The IPUoF files are written.
    FilesWritten,
    /// Slurm may launch the job. The ledger has not heard of the launch.
    Launch,
    /// The script runs.
    Running,
    /// Slurm takes the job's nodes away.
    Fini,
    /// The files of a partition that stays idle are deleted.
    IdleWithoutFiles,
    /// The controller was asked to remove the partition and has not answered.
    RemoveSent,
    /// The controller has answered the removal.
    RemoveAcknowledged,
    /// The partition and its files are gone. The journal does not say so yet.
    Cleared,
}

/// The way in which a test stops a job at a step.
pub enum Stop {
    /// The plugin is stopped.
    Plugin(Failpoint),
    /// The controller does not answer this call.
    Reply(Call),
    /// The script runs until the test lets it end.
    Script,
}

impl Step {
    /// Each step with its name, which is also the name of its failpoint.
    const ROWS: [(Self, &str); 17] = [
        (Self::Submit, "submit"),
        (Self::Test, "test"),
        (Self::Begin, "begin"),
        (Self::ResetSent, "reset_sent"),
        (Self::ResetAcknowledged, "reset_acknowledged"),
        (Self::Intent, "intent"),
        (Self::CreateSent, "create_sent"),
        (Self::CreateAcknowledged, "create_acknowledged"),
        (Self::Active, "active"),
        (Self::FilesWritten, "files_written"),
        (Self::Launch, "launch"),
        (Self::Running, "running"),
        (Self::Fini, "fini"),
        (Self::IdleWithoutFiles, "idle_without_files"),
        (Self::RemoveSent, "remove_sent"),
        (Self::RemoveAcknowledged, "remove_acknowledged"),
        (Self::Cleared, "cleared"),
    ];

    pub fn all() -> impl Iterator<Item = Self> {
        Self::ROWS.into_iter().map(|(step, _)| step)
    }

    pub fn name(self) -> &'static str {
        Self::ROWS.into_iter().find(|(step, _)| *step == self).map_or("", |(_, name)| name)
    }

    pub fn stop(self) -> Stop {
        match self {
            Self::ResetSent => Stop::Reply(Call::ResetPartition),
            Self::CreateSent => Stop::Reply(Call::CreatePartition),
            Self::RemoveSent => Stop::Reply(Call::RemovePartition),
            Self::Running => Stop::Script,
            _ => Stop::Plugin(Failpoint(self.name())),
        }
    }

    /// Whether slurmctld holds its locks at this step, and therefore handles no command.
    pub fn holds_locks(self) -> bool {
        [Self::Submit, Self::Test, Self::Begin, Self::Launch, Self::Fini].contains(&self)
    }

    /// Whether the job's partition is being made.
    pub fn is_making(self) -> bool {
        (Self::ResetSent..=Self::FilesWritten).contains(&self)
    }

    /// Whether only a job with an idle partition reaches this step.
    pub fn is_of_reuse(self) -> bool {
        [Self::ResetSent, Self::ResetAcknowledged, Self::IdleWithoutFiles].contains(&self)
    }

    /// Whether the step is about the create call.
    pub fn is_of_create(self) -> bool {
        [Self::CreateSent, Self::CreateAcknowledged].contains(&self)
    }

    /// Whether the step is about the removal.
    pub fn is_of_removal(self) -> bool {
        self >= Self::RemoveSent
    }

    /// Whether the job's work is done.
    pub fn is_ending(self) -> bool {
        self >= Self::Fini
    }
}

/// Returns the fault that holds the reply of the first of these calls. The controller still carries the call
/// out.
pub fn held(call: Call) -> Fault {
    Fault::new(Effect::HeldReply { rpc: Some(Rpc(call)) }).on("slurm_*").times(1)
}
