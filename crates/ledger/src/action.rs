//! Instructions of the ledger to the driver and to the host thread.

use std::time::Duration;

use vipu_types::{JobRun, PartitionId, PodId, Words};

use crate::event::SeenPartition;
use crate::{Claim, Seconds};

/// An instruction. Its type says which thread carries it out. Each action is carried out once. The answer
/// that it names comes back as an [`crate::Event`].
///
/// Actions for one partition are carried out and answered in the order given. Only
/// [`DriverAction::CancelCreate`] does not wait: it is for the create under way. Different partitions do not
/// wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// For the driver: calls to a controller, journal, files.
    Driver(DriverAction),
    /// For the host thread, which may take Slurm's locks.
    Host(HostAction),
}

/// An action of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverAction {
    /// Make the partition and write its files. Answers: [`crate::Event::CreateStarted`], then
    /// [`crate::Event::Up`], [`crate::Event::CreateFailed`], [`crate::Event::CreatePutOff`] or
    /// [`crate::Event::CreateCancelled`].
    Create(Claim),
    /// As [`DriverAction::Create`], once these partitions are gone. They are being removed.
    CreateAfter(Claim, Vec<PartitionId>),
    /// Give an idle partition to this claim: write its files. Answers: as for [`DriverAction::Create`]. A partition
    /// that cannot be used any more is made anew.
    Reuse {
        /// The claim.
        claim: Claim,
        /// The last run that had the partition. None if it is of a pool and nobody knows the last run.
        before: Option<JobRun>,
        /// Whether it has to be reset first.
        reset: bool,
    },
    /// End a create early. Exactly one of the last four answers of [`DriverAction::Create`] still comes.
    CancelCreate(PartitionId),
    /// Delete the files of a partition without a run, and reset it if that is said. Answers:
    /// [`crate::Event::Idle`] or, if it does not succeed soon, [`crate::Event::NotIdle`].
    MakeIdle {
        /// The claim of its last run.
        claim: Claim,
        /// Whether it is reset.
        reset: bool,
    },
    /// Remove the partition and its files, and retry until it is gone. Answer: [`crate::Event::Gone`].
    Remove(Claim),
    /// Record that the run failed, and that its partition stays until this time. Answer:
    /// [`crate::Event::KeepRecorded`].
    Keep(Claim, Seconds),
    /// Record that the partition of this claim, which is of a pool, is given to no job for this time. No answer.
    Withhold(Claim, Duration),
    /// Record that a partition of a pool is given to jobs again. No answer.
    EndWithheld(PartitionId),
    /// Record that a run has begun on a prepared partition, which is the partition of this run from now on.
    /// No answer.
    Bind(Claim),
    /// Handle a partition without a claim that is named like this cluster's. It is another cluster's, or was
    /// forgotten. Sent once for each, and again after configuration was read. No answer.
    Unclaimed {
        /// The Pod of the partition.
        pod: PodId,
        /// Its entry in the listing.
        seen: SeenPartition,
    },
    /// Remove a partition without a claim, because an administrator says so. No answer. Not an instruction of the
    /// ledger.
    RemoveForeign {
        /// The Pod of the partition.
        pod: PodId,
        /// The partition.
        partition: PartitionId,
    },
    /// Write the files of a running job's partition anew. No answer.
    Refresh(Claim, Stale),
    /// Ask the controller for its IPUs and partitions. Answer: [`crate::Event::Inventory`] or
    /// [`crate::Event::Unreachable`]. One listing may answer several surveys, if it is asked for after the
    /// last of them.
    Survey(PodId),
}

/// The reason why files of a partition are written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// The partition is on other IPUs now.
    Moved,
    /// An earlier slurmctld wrote them, and its journal does not say that they were durable. Not a reason of the
    /// ledger.
    MayBeLost,
}

/// An action of the host thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAction {
    /// Open the launch gate of the run. Answer: [`crate::Event::Launched`] or [`crate::Event::RunVanished`].
    OpenLaunch(Claim),
    /// End the run with this reason. A batch job is requeued and held. Answer: [`crate::Event::Fini`] from
    /// Slurm, or [`crate::Event::RunVanished`].
    FailRun(Claim, Words),
    /// End the run with this reason, and let its job wait for room once more. A batch job is requeued without
    /// a hold. Answers as for [`HostAction::FailRun`].
    SendBack(Claim, Words),
    /// Wait for the job's nodes. Answer: [`crate::Event::NodesDone`].
    AwaitNodes(Claim),
    /// Open the completion gate, after the launch gate if that is still raised. No answer.
    OpenCompletion {
        /// The claim. It is over by now, unless it was overdue or its partition stays.
        claim: Claim,
        /// The launch gate was never opened.
        launch_raised: bool,
    },
    /// Lower the launch gate of an ended run whose completion gate is not raised. The job may have a newer
    /// run, which this action must not launch. No answer.
    DropLaunch(Claim),
    /// Handle a running job whose partition cannot be used, for this reason. Sent once
    /// until that changes. No answer.
    Broken(Claim, Words),
    /// Tell the user of a running job that its partition is on other IPUs now. No answer.
    TellRelocated(Claim),
    /// Wait until this time, or until the job is requeued. Answer: [`crate::Event::KeepOver`].
    EndKeep(Claim, Seconds),
    /// Wake the scheduler, because IPUs became free. No answer.
    KickScheduler,
}
