//! The events that the ledger takes, and the facts in them.

use std::time::Duration;

use std::collections::BTreeMap;

use vipu_types::{ModelName, PartitionId, Place, PodId, Words};

use crate::{Claim, Drain, DrainScope, Millis, ModelFacts, PoolBlock, Seconds};

/// The state of a job whose claim is taken over from an earlier slurmctld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptedAs {
    /// Not launched yet. Its launch gate was raised again, and its partition is found or made again.
    Starting,
    /// RUNNING, on a partition that exists.
    Running,
    /// COMPLETING. Its completion gate was raised again, and its partition has to be removed.
    Ending,
    /// Failed. Its partition is kept until this time.
    Kept(Seconds),
}

/// The launch of a run whose partition is ready when the run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// Nothing is left to do: see [`crate::Ledger::is_launched`]. The front end takes the launch gate back.
    AtOnce,
    /// By [`crate::HostAction::OpenLaunch`], because something has to be done before the job runs.
    ByGate,
}

/// Whether Slurm waits when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The job stays COMPLETING until [`crate::HostAction::OpenCompletion`], because its completion gate was
    /// raised.
    Held,
    /// Slurm waits for nothing. The job may be gone already.
    Unheld,
}

/// A partition in a listing of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPartition {
    /// The partition's id.
    pub partition: PartitionId,
    /// The place of each of its IPUs. Empty if the controller did not tell. A place that the Pod lacks, or
    /// that another IPU has already, still counts as one used IPU.
    pub places: Vec<Place>,
    /// The reason why no program can use it, in the controller's words. None if it can be used.
    pub fault: Option<Words>,
    /// The controller shows it as removed. It is not usable any more, but its name and its IPUs are not free
    /// yet.
    pub leaving: bool,
}

/// A partition of a pool, as the controller lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolPartition {
    /// Its entry in the listing.
    pub seen: SeenPartition,
    /// Its size, and the sizes of jobs that it serves.
    pub block: PoolBlock,
    /// The number of its GCDs.
    pub gcds: u32,
    /// Whether it can be given to a job: it is neither being made nor being reset.
    pub is_ready: bool,
}

/// A fact that the ledger is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Configuration was read. The list has all models. Models and controllers outside the list take no new
    /// claims, but their claims live on.
    Models(Vec<ModelFacts>),
    /// A controller answered with all its IPUs and partitions, in a listing requested at `asked`.
    Inventory {
        /// The controller, and the model it serves.
        pod: PodId,
        /// The time of the request. A partition removed since then does not count as foreign. A listing older
        /// than the last one is no news.
        asked: Millis,
        /// The number of all IPUs of the controller.
        ipus: u32,
        /// The number of IPUs in error or behind a dead agent.
        faulty: u32,
        /// Every partition on the controller.
        partitions: Vec<SeenPartition>,
    },
    /// The partitions of a pool that the controller has. The next [`Event::Inventory`] of the Pod is of the same
    /// listing.
    Pool {
        /// The controller, and the model it serves.
        pod: PodId,
        /// The partitions.
        partitions: Vec<PoolPartition>,
        /// Those that it should have and has not, with the reasons.
        missing: BTreeMap<PartitionId, Words>,
    },
    /// IPUs that are known to be unusable. The next [`Event::Inventory`] of the Pod is of the same listing, and counts
    /// none of them as faulty.
    BrokenIpus {
        /// The controller, and the model it serves.
        pod: PodId,
        /// Their places.
        places: Vec<Place>,
    },
    /// A partition without a claim was removed. A late create may make it once more.
    UnclaimedGone {
        /// The controller, and the model it serves.
        pod: PodId,
        /// The partition.
        partition: PartitionId,
    },
    /// A controller gave no answer, or one without sense.
    Unreachable {
        /// The controller, and the model it serves.
        pod: PodId,
        /// The reason.
        reason: Words,
    },
    /// A resource that all jobs of a model need is in trouble, for example its directory or the journal, or
    /// the trouble is over. During a trouble no job starts.
    Trouble {
        /// The model.
        model: ModelName,
        /// What is wrong, where, and what to do. None when the trouble is over.
        reason: Option<Words>,
    },
    /// A controller answers but refuses the partitions of all jobs, or no longer does. Few jobs may ask
    /// meanwhile. Each repetition of this event lets more jobs ask.
    Refuses {
        /// The controller, and the model it serves.
        pod: PodId,
        /// The controller's words. None when the refusals are over.
        reason: Option<Words>,
    },
    /// An administrator drains IPUs, which need not be known yet. Replaces an earlier drain of the same scope.
    Drain(Drain),
    /// The drain of exactly this scope is over. Ignored if there is none.
    Resume(DrainScope),
    /// A partition is to be made for a waiting job, to be ready when the job starts. The claim's run has not
    /// begun: [`vipu_types::JobRun::waiting`]. Its id is new: [`crate::Ledger::new_id`]. Ignored while the
    /// job has a claim.
    Prepare(Claim),
    /// The prepared partition of this job is to be removed: the job does not wait any more, has another
    /// request, or others need the IPUs. Ignored once the job has begun.
    Forgo {
        /// The job.
        job: u32,
        /// The partition waited in vain, for a reason unknown here. For a while, this job and the other jobs
        /// of its user are not prepared.
        in_vain: bool,
    },
    /// Slurm gave a job its nodes, and the launch gate was raised (job_begin). If the claim has the id of a
    /// prepared partition, the run has it at once, and is launched as [`Launch`] says. Otherwise the id is new:
    /// [`crate::Ledger::new_id`]. A claim on a partition that another claim has is ignored.
    Begin(Claim, Launch),
    /// A new slurmctld found this job of an earlier one. Ignored while a claim of the job has the partition. If
    /// another job has it, [`crate::Ledger::is_of_another`] says which of the two keeps it.
    Adopt(Claim, AdoptedAs),
    /// A partition of an earlier slurmctld has no run any more. It has to be removed, and no job waits for
    /// that. Its job may have a newer run. Ignored while the partition has a claim.
    Orphan(Claim),
    /// Slurm took the job's nodes away (job_fini). Unknown jobs and repetitions are ignored: raise the
    /// completion gate only while [`crate::Ledger::live_claim`] knows the job.
    Fini {
        /// The job. At most one of its runs has not ended.
        job: u32,
        /// Whether Slurm waits for the removal.
        ending: Ending,
    },
    /// Slurm took the job's nodes away after the run failed. Its partition is kept until `keep_until`, if the
    /// run had begun to use it.
    Failed {
        /// The job.
        job: u32,
        /// Whether Slurm waits for the removal.
        ending: Ending,
        /// The end of the time for which the partition is kept.
        keep_until: Seconds,
    },
    /// The journal has the entry that the partition is kept.
    KeepRecorded(PartitionId),
    /// The partition of a failed run is not kept any longer: its time is over, the job was requeued, or its user
    /// frees it.
    KeepOver(PartitionId),
    /// An administrator frees a partition that is kept or idle, or that its pool gives to no job for a while. No process
    /// of a job is left on it.
    Freed(PartitionId),
    /// An earlier front end gave a partition of a pool to no job for a while, and this time is left.
    Withheld {
        /// The claim of its last run.
        claim: Claim,
        /// The time that is left.
        left: Duration,
    },
    /// The create call was sent.
    CreateStarted(PartitionId),
    /// The partition is ACTIVE and its IPUoF files are durable.
    Up(PartitionId),
    /// The partition could not be made in time, or was refused for good. It may exist all the same. The run
    /// is failed. While the controller answers no job, the run is sent back into the line instead.
    CreateFailed {
        /// The partition.
        partition: PartitionId,
        /// The controller's or the file system's own words.
        reason: Words,
    },
    /// The partition was not made, for a reason that says nothing about its job. The run is sent back into
    /// the line. Its next partition has another id.
    CreatePutOff {
        /// The partition.
        partition: PartitionId,
        /// The reason.
        reason: Words,
    },
    /// The controller has no room for the partition at the moment. The create is tried again.
    NoRoom(PartitionId),
    /// A create was given up because of [`crate::DriverAction::CancelCreate`]. The partition may exist.
    CreateCancelled(PartitionId),
    /// The host thread opened the launch gate, and the job was there.
    Launched(PartitionId),
    /// The host thread did not find the run that it was to launch or fail. If a launch gate is still raised,
    /// [`crate::HostAction::OpenLaunch`] lowers its part of it in any case.
    RunVanished(PartitionId),
    /// No process of the job runs on its nodes any more.
    NodesDone(PartitionId),
    /// Slurm does not wait for the job's nodes any more, or RemoveWait is over. Processes may still run there, so
    /// that no other job can have the partition.
    NodesUnknown(PartitionId),
    /// The partition has no files and can be given to another run.
    Idle(PartitionId),
    /// The partition cannot be given to another run, for example because its reset failed.
    NotIdle(PartitionId),
    /// Slurm has waited long enough for the end of this run (RemoveWait). Its completion gate is opened
    /// although its partition is still there. The IPUs count as used.
    Overdue(PartitionId),
    /// The partition is confirmed gone and its files are deleted.
    Gone(PartitionId),
}

impl Event {
    /// The begin of a run that is launched as soon as its partition is ready.
    pub fn begin(claim: Claim) -> Self {
        Self::Begin(claim, Launch::AtOnce)
    }
}
