//! The kinds of faults.

use std::time::Duration;

use crate::controller::Mood;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// slurmctld is killed and started again. Its journal has all acknowledged entries, and some of the
    /// others.
    Killed,
    /// Like `Killed`, but Slurm's own state is up to some seconds old. Jobs are forgotten and their ids are
    /// given out again. Jobs that were launched are pending.
    KilledForgetful,
    /// A backup takes over. The earlier slurmctld goes on until it finds that its journal was taken.
    TakenOver,
    /// Configuration is read anew, with other settings.
    Reconfigured,
    /// The journal cannot be written: a full disk.
    JournalFull,
    /// IPUoF files can be neither written nor deleted.
    FilesRefused,
    /// A controller is in this mood for a while.
    InMood(Mood),
    /// A controller ends and comes back with all its partitions.
    Restarts,
    /// A controller ends and comes back without any partition.
    Forgets,
    /// A partition ends in error when it is made.
    CreatesFail,
    /// A partition is never finished.
    CreatesStick,
    /// A reset ends in error.
    ResetsFail,
    /// A reset never ends.
    ResetsStick,
    /// A removal ends in error.
    RemovesFail,
    /// A partition is never removed.
    RemovesStick,
    /// A partition takes long to make.
    CreatesSlow,
    /// A partition goes into error until the controller mends it.
    Breaks,
    /// A partition vanishes.
    Vanishes,
    /// Another cluster makes a partition under the same prefix, and removes it later.
    Foreign,
    /// Another cluster makes a partition under an id that a job of this cluster is about to need.
    ForeignNamesake,
    /// A node with a job is cut off. Slurm sets it down, and the processes of the job stay for up to 15 minutes.
    NodeCut,
}

use Kind::*;
use Mood::*;

/// The kinds that are drawn, each with its weight.
pub const KINDS: [(Kind, u32); 30] = [
    (Killed, 4),
    (KilledForgetful, 4),
    (TakenOver, 3),
    (Reconfigured, 3),
    (JournalFull, 2),
    (FilesRefused, 2),
    (InMood(Refuses), 2),
    (InMood(Hangs), 2),
    (InMood(Garbles), 2),
    (InMood(LosesReplies), 2),
    (InMood(Stranger), 1),
    (InMood(OtherHands), 2),
    (InMood(CreatesLate), 2),
    (InMood(CreatesVeryLate), 2),
    (InMood(RemovesLate), 2),
    (InMood(ResetsLate), 2),
    (Restarts, 2),
    (Forgets, 1),
    (CreatesFail, 2),
    (CreatesStick, 1),
    (ResetsFail, 2),
    (ResetsStick, 1),
    (RemovesFail, 2),
    (RemovesStick, 1),
    (CreatesSlow, 2),
    (Breaks, 3),
    (Vanishes, 3),
    (Foreign, 4),
    (ForeignNamesake, 2),
    (NodeCut, 3),
];

/// One fault.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// The time at which it begins.
    pub at: Duration,
    /// Its length, for kinds that have one.
    pub length: Duration,
    /// A number that picks the controller, partition or state of the fault.
    pub pick: usize,
}
