//! The faults of the matrix.

use testbed::Disk;

use crate::step::Step;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// slurmctld is stopped in order, and the job passes the step while slurmctld ends.
    Stop,
    /// kill -9 of slurmctld, and a restart. Slurm has saved the job's state.
    Kill,
    /// [`Self::Kill`] before Slurm has saved the job's state: slurmctld knows the job as waiting.
    KillUnsaved,
    /// [`Self::Kill`], and Slurm's saved state is lost, but not the journal: Slurm gives job ids out again.
    StateLost,
    /// kill -9 of slurmctld, then `slurmctld -c`: slurmctld knows no job any more.
    CleanStart,
    /// A backup takes over, and the primary takes control back.
    Takeover,
    /// `scontrol reconfigure`.
    Reconfigure,
    /// `scancel`.
    Cancel,
    /// `scontrol requeue`.
    Requeue,
    /// The job's node dies, is given up by Slurm, and comes back.
    NodeDeath,
    /// The controller refuses connections.
    Refused,
    /// The controller never answers.
    Hung,
    /// The controller answers garbage.
    Garbage,
    /// The controller's next reply is lost.
    ReplyLost,
    /// The controller is killed and started again.
    Restarted,
    /// The controller is killed and started again without its state: all partitions are gone.
    Forgetful,
    /// The disk of IpuofDir is full.
    IpuofDirFull,
    /// The disk of StateSaveLocation is full.
    StateFull,
    /// CompleteWait is set in slurm.conf, the job is cancelled, and its partition is removed slowly.
    SlowRemove,
    /// The plugin panics.
    Panic,
}

impl Fault {
    /// Each fault with its name in test names and its words in the table.
    const ROWS: [(Self, &str, &str); 20] = [
        (Self::Stop, "stop", "slurmctld is stopped in order (TERM), restart"),
        (Self::Kill, "kill", "kill -9 slurmctld, restart"),
        (Self::KillUnsaved, "kill_unsaved", "kill -9 before Slurm saved the job's state, restart"),
        (Self::StateLost, "state_lost", "kill -9 and loss of Slurm's saved state, restart"),
        (Self::CleanStart, "clean_start", "kill -9, `slurmctld -c`"),
        (Self::Takeover, "backup_takeover", "backup takes over, primary returns"),
        (Self::Reconfigure, "reconfigure", "`scontrol reconfigure`"),
        (Self::Cancel, "scancel", "`scancel`"),
        (Self::Requeue, "requeue", "`scontrol requeue`"),
        (Self::NodeDeath, "node_death", "node dies, is marked down, returns"),
        (Self::Refused, "refused", "vipu-server refuses connections"),
        (Self::Hung, "hung", "vipu-server hangs"),
        (Self::Garbage, "garbage", "vipu-server answers garbage"),
        (Self::ReplyLost, "reply_lost", "vipu-server's next reply is lost"),
        (Self::Restarted, "restarted", "vipu-server restarted"),
        (Self::Forgetful, "restarted_without_state", "vipu-server restarted without its state"),
        (Self::IpuofDirFull, "ipuof_dir_full", "IpuofDir full"),
        (Self::StateFull, "state_full", "StateSaveLocation full"),
        (Self::SlowRemove, "slow_remove", "`scancel`, slow remove, CompleteWait"),
        (Self::Panic, "panic", "the plugin panics"),
    ];

    pub fn all() -> impl Iterator<Item = Self> {
        Self::ROWS.into_iter().map(|(fault, ..)| fault)
    }

    /// Returns the name for test names.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the words for the table.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (Self, &'static str, &'static str) {
        Self::ROWS.into_iter().find(|(fault, ..)| *fault == self).unwrap_or((self, "", ""))
    }

    /// Returns why this fault cannot strike at this step.
    pub fn cannot_strike(self, step: Step) -> Option<&'static str> {
        match (self, step) {
            (Self::Cancel | Self::Requeue, Step::Submit) => Some("the job has no id yet"),
            (Self::KillUnsaved, Step::Submit) => {
                Some("Slurm has not accepted the job, so the case equals kill -9")
            }
            (Self::Requeue, Step::Test) => Some("a job that waits cannot be requeued"),
            (Self::Refused | Self::Hung | Self::Garbage | Self::ReplyLost, Step::Cleared) => {
                Some("the controller gets no more calls")
            }
            (Self::Panic, Step::ResetSent | Step::CreateSent | Step::RemoveSent | Step::Running) => {
                Some("the plugin only waits at this step")
            }
            _ => None,
        }
    }

    /// Whether the fault ends slurmctld.
    pub fn ends_slurmctld(self) -> bool {
        self == Self::Stop
            || [Self::Kill, Self::KillUnsaved, Self::StateLost, Self::CleanStart, Self::Takeover]
                .contains(&self)
    }

    /// Whether the fault strikes only after Slurm has saved the job's state.
    pub fn waits_for_saved_state(self) -> bool {
        matches!(self, Self::Kill | Self::Takeover)
    }

    /// Returns the disk that the fault fills.
    pub fn disk(self) -> Option<Disk> {
        match self {
            Self::IpuofDirFull => Some(Disk::Ipuof),
            Self::StateFull => Some(Disk::State),
            _ => None,
        }
    }
}
