//! Where a job is when the fault strikes.

use mock_vipu::{Effect, Fault, Rpc};
use testbed::Failpoint;
use vipu_client::Call;

/// A step in the life of a job with IPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Its request is being looked at.
    Submit,
    /// The scheduler asks whether it may start.
    Test,
    /// It has its nodes.
    Begin,
    /// What is to be made is on disk.
    Intent,
    /// The controller was asked for the partition and has not answered.
    CreateSent,
    /// It has answered.
    CreateAcknowledged,
    /// The partition is ready.
    Active,
    /// The IPUoF files are written.
    FilesWritten,
    /// Slurm may launch the job; the ledger has not heard of it.
    Launch,
    /// The script runs.
    Running,
    /// Slurm takes its nodes away.
    Fini,
    /// The controller was asked to remove the partition and has not answered.
    RemoveSent,
    /// It has answered.
    RemoveAcknowledged,
    /// Partition and files are gone; the journal does not say so yet.
    Cleared,
}

/// How a test gets a job to stop at a step.
pub enum Stop {
    /// The plugin is stopped.
    Plugin(Failpoint),
    /// The controller does not answer this call.
    Reply(Call),
    /// The script stays by itself.
    Script,
}

impl Step {
    /// Each step, with its name, which is also that of the place in the plugin.
    const ROWS: [(Self, &str); 14] = [
        (Self::Submit, "submit"),
        (Self::Test, "test"),
        (Self::Begin, "begin"),
        (Self::Intent, "intent"),
        (Self::CreateSent, "create_sent"),
        (Self::CreateAcknowledged, "create_acknowledged"),
        (Self::Active, "active"),
        (Self::FilesWritten, "files_written"),
        (Self::Launch, "launch"),
        (Self::Running, "running"),
        (Self::Fini, "fini"),
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
            Self::CreateSent => Stop::Reply(Call::CreatePartition),
            Self::RemoveSent => Stop::Reply(Call::RemovePartition),
            Self::Running => Stop::Script,
            _ => Stop::Plugin(Failpoint(self.name())),
        }
    }

    /// Whether slurmctld holds its locks there, and so hears nobody.
    pub fn holds_locks(self) -> bool {
        [Self::Submit, Self::Test, Self::Begin, Self::Launch, Self::Fini].contains(&self)
    }

    /// Whether the job's partition is being made.
    pub fn is_making(self) -> bool {
        (Self::Intent..=Self::FilesWritten).contains(&self)
    }

    /// Whether the job has done what it wanted.
    pub fn is_ending(self) -> bool {
        self >= Self::Fini
    }
}

/// The first such call is carried out, and its reply held.
pub fn held(call: Call) -> Fault {
    Fault::new(Effect::HeldReply { rpc: Some(Rpc(call)) }).on("slurm_*").times(1)
}
