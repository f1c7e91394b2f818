//! What the ledger wants done: by the driver, or by the host thread.

use vipu_types::{PartitionId, PodId};

use crate::event::SeenPartition;
use crate::{Claim, Seconds};

/// Something to do, by the type that says who carries it out. Each is carried out once; each answer named there comes back
/// as an [`crate::Event`].
///
/// What concerns one partition is carried out and answered in the order given, but for
/// [`DriverAction::CancelCreate`], which is for the create under way; different partitions do not wait for
/// each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// For the driver: calls to a controller, journal, files.
    Driver(DriverAction),
    /// For the thread that may take Slurm's locks.
    Host(HostAction),
}

/// What the driver does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverAction {
    /// Make the partition and write its files: [`crate::Event::CreateStarted`], then [`crate::Event::Up`],
    /// [`crate::Event::CreateFailed`], [`crate::Event::CreatePutOff`] or [`crate::Event::CreateCancelled`].
    Create(Claim),
    /// End a create early: still exactly one of the four answers of [`DriverAction::Create`] comes.
    CancelCreate(PartitionId),
    /// Remove the partition and its files, retrying until it is gone: [`crate::Event::Gone`].
    Remove(Claim),
    /// The run failed, and its partition stays until then: have that on record, [`crate::Event::KeepRecorded`].
    Keep(Claim, Seconds),
    /// A run has begun on a partition that was prepared: the partition is this run's from now on. It has no
    /// answer.
    Bind(Claim),
    /// A partition is there that is named as ours are, and no claim has it: another cluster's, or a forgotten
    /// one. Said once of each, and again when configuration was read. It has no answer.
    Unclaimed {
        /// Where it is.
        pod: PodId,
        /// What the listing says of it.
        seen: SeenPartition,
    },
    /// The partition of a job that runs is on other IPUs now: write its files anew. It has no answer.
    Refresh(Claim),
    /// Ask the controller for its IPUs and partitions: [`crate::Event::Inventory`] or [`crate::Event::Unreachable`].
    /// Several may be answered by one listing that is asked for after the last of them.
    Survey(PodId),
}

/// What the thread does that may take Slurm's locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAction {
    /// Open the launch gate of the run: [`crate::Event::Launched`] or [`crate::Event::RunVanished`].
    OpenLaunch(Claim),
    /// End the run with this reason (batch jobs: requeue held): Slurm then says [`crate::Event::Fini`];
    /// or [`crate::Event::RunVanished`].
    FailRun(Claim, String),
    /// End the run with this reason and have it wait for room once more (batch jobs: requeue): as
    /// [`HostAction::FailRun`] but for the hold.
    SendBack(Claim, String),
    /// Wait for the job's nodes: [`crate::Event::NodesDone`].
    AwaitNodes(Claim),
    /// Open the completion gate, after the launch gate when that one is still raised.
    OpenCompletion {
        /// The claim, gone by now unless it was overdue.
        claim: Claim,
        /// The launch gate was never opened.
        launch_raised: bool,
    },
    /// Lower the launch gate of a run for which no completion gate is held; its job has ended, and may
    /// have a newer run that this must not launch.
    DropLaunch(Claim),
    /// The partition of a job that runs cannot be used (any more), in words for people. Said once until it
    /// changes; it has no answer.
    Broken(Claim, String),
    /// The partition of a job that runs is on other IPUs now: tell its user. It has no answer.
    TellRelocated(Claim),
    /// Say [`crate::Event::KeepOver`] at that time, or once the job has been requeued.
    EndKeep(Claim, Seconds),
    /// IPUs became free: let the scheduler look again.
    KickScheduler,
}
