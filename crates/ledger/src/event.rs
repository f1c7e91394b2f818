//! What the ledger is told and what it answers with: its whole interface in time.

use std::time::Duration;

use vipu_types::{ControllerName, IpuCount, ModelName, PartitionId, Place, Placement, PodId};

use crate::{Claim, Millis, Seconds};

/// How far a job had come when its claim is taken over from an earlier slurmctld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptedAs {
    /// Not launched yet: its launch gate was raised again, its partition is made, or found, again.
    Starting,
    /// RUNNING on a partition that exists.
    Running,
    /// COMPLETING: its completion gate was raised again, its partition has to go.
    Ending,
    /// It failed, and its partition stays until then.
    Kept(Seconds),
}

/// Why nodes and gates are told apart when a run ends: what Slurm still waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The job stays COMPLETING until [`crate::HostAction::OpenCompletion`]: its completion gate was raised.
    Held,
    /// Slurm waits for nothing; the job may be gone already.
    Unheld,
}

/// Where the IPUs of a partition are, and what a listing of the controller says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPartition {
    /// The partition's id.
    pub partition: PartitionId,
    /// The place of each of its IPUs; empty when the controller did not say. A place that the Pod
    /// does not have, or has only once, is an IPU used all the same.
    pub places: Vec<Place>,
    /// Why no program can use it, in the controller's words; none when one can.
    pub fault: Option<String>,
    /// The controller shows it as removed: it is of no use any more, but its name and its IPUs are not free
    /// yet.
    pub leaving: bool,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Configuration was read: the models there are. Models and controllers not named any more take no new
    /// claims; the claims on them live on.
    Models(Vec<ModelFacts>),
    /// A controller answered: all its IPUs and partitions, as of a listing asked for at `asked`.
    Inventory {
        /// The controller, and the model it serves.
        pod: PodId,
        /// When the listing was asked for: what was removed since does not count as foreign, and a
        /// listing older than the last one told is no news.
        asked: Millis,
        /// All IPUs the controller has.
        ipus: u32,
        /// Those of them in error or behind a dead agent.
        faulty: u32,
        /// Every partition on the controller.
        partitions: Vec<SeenPartition>,
    },
    /// A controller did not answer, or not with sense.
    Unreachable {
        /// The controller, and the model it serves.
        pod: PodId,
        /// What to tell people.
        reason: String,
    },
    /// What all jobs of a model need is in trouble, such as its directory or the journal, in words for
    /// people; or it is not any more. No job starts meanwhile.
    Trouble {
        /// The model.
        model: ModelName,
        /// What is wrong, where, and what to do.
        reason: Option<String>,
    },
    /// A controller answers, and refuses the partitions of all jobs; or it does not any more. Few jobs ask
    /// meanwhile. Said again from time to time, it lets more of them ask.
    Refuses {
        /// The controller, and the model it serves.
        pod: PodId,
        /// Its words.
        reason: Option<String>,
    },
    /// A partition is to be made for a job that waits, so that it is there when the job starts. The claim's
    /// run has not begun: [`vipu_types::JobRun::waiting`]. Its id is new: [`crate::Ledger::new_id`]. Ignored
    /// while the job has a claim.
    Prepare(Claim),
    /// What was prepared for this job is to go: the job is not waiting any more, wants something else, or
    /// others need the IPUs. Ignored once the job has begun.
    Forgo {
        /// The job.
        job: u32,
        /// It waited in vain, for what nobody here knows: the job is to start the ordinary way for a while,
        /// and so are the others of its user.
        in_vain: bool,
    },
    /// Slurm gave a job its nodes and its launch gate was raised (job_begin). If the partition was prepared,
    /// and the claim has its id, the run has it at once: see [`crate::Ledger::is_launched`]; the launch gate
    /// is then for the front end to take back. Else its id is new: [`crate::Ledger::new_id`]. A claim on a
    /// partition that another has is not taken.
    Begin(Claim),
    /// A new slurmctld found this job of an earlier one. Ignored while the partition has a claim: see
    /// [`crate::Ledger::holder`].
    Adopt(Claim, AdoptedAs),
    /// A partition of an earlier slurmctld was found whose run is over: nobody waits, but it has to
    /// go. Its job may have a newer run. Ignored while the partition has a claim.
    Orphan(Claim),
    /// Slurm took the job's nodes away (job_fini). Unknown jobs and repetitions are ignored: raise the
    /// completion gate only while [`crate::Ledger::live_claim`] knows the job.
    Fini {
        /// The job; one job has at most one run that has not ended.
        job: u32,
        /// Whether Slurm waits for us.
        ending: Ending,
    },
    /// The same of a run that failed, whose partition is to stay until then if it had begun to use it.
    Failed {
        /// The job.
        job: u32,
        /// Whether Slurm waits for us.
        ending: Ending,
        /// Until when.
        keep_until: Seconds,
    },
    /// It is on record that the partition stays.
    KeepRecorded(PartitionId),
    /// The partition of a failed run is to stay no longer: its time is over, or the job has been requeued.
    KeepOver(PartitionId),
    /// The create call was sent.
    CreateStarted(PartitionId),
    /// The partition is ACTIVE and its IPUoF files are durable.
    Up(PartitionId),
    /// The partition could not be made in time, or was refused for good; it may exist all the same. While its
    /// controller does not answer anybody the run is sent back into the line, else it is failed.
    CreateFailed {
        /// The partition.
        partition: PartitionId,
        /// The controller's or the file system's own words.
        reason: String,
    },
    /// The partition was not made, which says nothing of its job: the run is sent back into the line, and the
    /// next partition that is asked for it has another id.
    CreatePutOff {
        /// The partition.
        partition: PartitionId,
        /// Why.
        reason: String,
    },
    /// The controller has no room for the partition at the moment; the create goes on trying.
    NoRoom(PartitionId),
    /// A create was given up because of [`crate::DriverAction::CancelCreate`]; the partition may exist.
    CreateCancelled(PartitionId),
    /// The host opened the launch gate, and the job was there to start.
    Launched(PartitionId),
    /// The host found no such run when it wanted to launch it or fail it. Of a launch gate still there
    /// [`crate::HostAction::OpenLaunch`] lowers its part in any case.
    RunVanished(PartitionId),
    /// The job's nodes are done with it, or RemoveWait is over.
    NodesDone(PartitionId),
    /// Slurm has waited long enough for the end of this run (RemoveWait): its completion gate is opened
    /// though its partition is still there, with IPUs that count as used.
    Overdue(PartitionId),
    /// The partition is confirmed gone and its files are deleted.
    Gone(PartitionId),
}

/// What a model is, from configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name.
    pub model: ModelName,
    /// Its controllers, in the order in which they are tried.
    pub controllers: Vec<ControllerName>,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// What the ids of its partitions begin with (PartitionPrefix).
    pub prefix: String,
    /// Who chooses the IPUs of a partition (Placement).
    pub placement: Placement,
    /// The time between two listings that nobody asked for (ReconcileInterval).
    pub reconcile_interval: Duration,
    /// The largest partition a job may have (MaxIpusPerJob and the nodes' GRES count).
    pub largest: u32,
    /// Why its jobs cannot start at all for now, such as a broken `vipu.conf`.
    pub trouble: Option<String>,
}

impl ModelFacts {
    /// The Pod of each of its controllers, in their order.
    pub fn pods(&self) -> impl Iterator<Item = PodId> {
        let pod =
            |controller: &ControllerName| PodId { model: self.model.clone(), controller: controller.clone() };
        self.controllers.iter().map(pod)
    }
}
