//! What goes wrong.

use std::time::Duration;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// slurmctld is killed and started again. Its journal has what was acknowledged and a part of what was not.
    Killed,
    /// The same; and Slurm's own state is up to some seconds old: jobs are forgotten and their ids handed out again,
    /// jobs that were launched are pending.
    KilledForgetful,
    /// A backup takes over, and the slurmctld before it goes on until it finds its journal taken.
    TakenOver,
    /// Configuration is read anew, with other settings.
    Reconfigured,
    /// The journal cannot be written: a full disk.
    JournalFull,
    /// IPUoF files can be neither written nor deleted.
    FilesRefused,
    /// A controller refuses connections.
    Refuses,
    /// A controller does not answer, and does nothing.
    Hangs,
    /// A controller answers with errors that do not tell, whether it did it or not.
    Garbles,
    /// A controller does what it is told, and its replies are lost.
    LosesReplies,
    /// A controller does not know us.
    Stranger,
    /// A create takes effect late, while the driver still reckons with that.
    CreatedLate,
    /// A create takes effect long after it was given up.
    CreatedVeryLate,
    /// A remove takes effect long after it was sent.
    RemovedLate,
    /// A controller answers as the interface allows, but our mock never does.
    OtherHands,
    /// A controller falls silent, and stays so as long as the fault lasts. Not drawn, see `endless.rs`.
    Silent,
    /// A controller says yes to removes, and removes nothing. Not drawn, see `endless.rs`.
    RemovesNothing,
    /// A controller ends and comes back with all its partitions.
    Restarts,
    /// A controller ends and comes back without any partition.
    Forgets,
    /// A partition ends up in error when it is made.
    CreatesFail,
    /// A partition is being made for ever.
    CreatesStick,
    /// A removal ends in error.
    RemovesFail,
    /// A partition is being removed for ever.
    RemovesStick,
    /// A partition takes long to be made.
    CreatesSlow,
    /// A partition goes into error, for the controller to mend.
    Breaks,
    /// A partition vanishes.
    Vanishes,
    /// Another cluster makes a partition under the same prefix, and removes it later.
    Foreign,
    /// The same, under the name that a job of ours is about to need.
    ForeignNamesake,
}

use Kind::*;

/// The kinds that are drawn, with how often each is drawn.
pub const KINDS: [(Kind, u32); 26] = [
    (Killed, 4),
    (KilledForgetful, 4),
    (TakenOver, 3),
    (Reconfigured, 3),
    (JournalFull, 2),
    (FilesRefused, 2),
    (Refuses, 2),
    (Hangs, 2),
    (Garbles, 2),
    (LosesReplies, 2),
    (Stranger, 1),
    (OtherHands, 2),
    (CreatedLate, 2),
    (CreatedVeryLate, 2),
    (RemovedLate, 2),
    (Restarts, 2),
    (Forgets, 1),
    (CreatesFail, 2),
    (CreatesStick, 1),
    (RemovesFail, 2),
    (RemovesStick, 1),
    (CreatesSlow, 2),
    (Breaks, 3),
    (Vanishes, 3),
    (Foreign, 4),
    (ForeignNamesake, 2),
];

/// One fault.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// When it begins.
    pub at: Duration,
    /// How long it lasts, where that means something.
    pub length: Duration,
    /// Which controller, partition or state it is about: whichever this number comes to.
    pub pick: usize,
}
