//! The front end's needs besides Slurm: clocks, and queues to the threads that carry out its decisions.

use std::collections::BTreeMap;

use ledger::{Action, Claim, EndedRun, Ending, HostAction, Millis, Seconds};
use vipu_types::{JobRun, Reason};

/// Clocks and queues. No method may wait: all are called under slurmctld's locks, and the queues also while
/// the ledger is locked.
pub trait Outside: Send + Sync {
    /// The ledger's clock: milliseconds since the front end began.
    fn now(&self) -> Millis;
    /// Slurm's clock: seconds since the Unix epoch.
    fn unix_time(&self) -> Seconds;
    /// A time as Slurm's commands show it: local, `2026-11-21T12:34:56`.
    fn local_time(&self, at: Seconds) -> String;
    /// The local time less UTC at this time, in seconds.
    fn utc_offset(&self, _at: Seconds) -> i64 {
        0
    }
    /// Passes each action to its thread, in this order: to the driver, or to the host thread as a
    /// [`HostTask`].
    fn carry_out(&self, actions: Vec<Action>);
    /// Whether slurmctld has begun to end, and launches no job any more.
    fn is_ending(&self) -> bool {
        false
    }
    /// Records in the journal that the batch script of this run was launched at this time.
    fn note_launched(&self, claim: Claim, at: Seconds);
    /// Records in the journal that the run of a batch job has ended.
    fn note_ended(&self, _claim: Claim, _ended: EndedRun) {}
    /// Queues a task for the host thread.
    fn ask_host(&self, task: HostTask);
    /// Whether the plugin has switched itself off, because Slurm's records differ from the layout of its
    /// release.
    fn is_switched_off(&self) -> bool;
}

/// A batch script that an earlier slurmctld may have launched.
#[derive(Clone, Debug)]
pub struct Script {
    /// The claim of the run.
    pub claim: Claim,
    /// The job of the script: the run's, or the leader of its heterogeneous job.
    pub job: u32,
    /// The node that runs the script.
    pub host: String,
    /// The time of the launch, if it is on record.
    pub launched: Option<Seconds>,
}

/// Runs that Slurm's saved state may not have.
#[derive(Clone, Debug, Default)]
pub struct LostRuns {
    /// The job ids that the journal has. Slurm may have forgotten jobs with ids up to these, and would take what it hears
    /// of such a job for a later one's.
    pub ids: Vec<u32>,
    /// Runs of which processes may be left, and whether their launch is on record. Their nodes are asked before their
    /// partitions are released.
    pub left: Vec<(Claim, bool)>,
    /// Runs that have ended.
    pub ended: Vec<EndedRun>,
}

/// A task for the host thread, which may take Slurm's locks.
#[derive(Clone, Debug)]
pub enum HostTask {
    /// Carry out an action of the ledger.
    Act(HostAction),
    /// Open the completion gate of this run after RemoveWait, if it is still raised then.
    Limit(Claim),
    /// Remove a prepared partition once its job does not wait for it any more.
    Watch(Claim),
    /// Show the reason why a job was not started, after the scheduler's pass in which Slurm writes its own.
    ShowReason {
        /// The job.
        job: u32,
        /// The reason.
        reason: Reason,
    },
    /// Take back the reason that an earlier slurmctld gave this job, once it does not hold any more.
    WatchReason(u32),
    /// Show the progress of a create: as the run's reason, and at the terminal of srun or salloc if `aloud`.
    SayCreating {
        /// The run.
        run: JobRun,
        /// The progress.
        progress: Reason,
        /// Whether the terminal gets the line as well.
        aloud: bool,
    },
    /// End this run if it is not launched by this time, the job's deadline.
    Deadline(Claim, Seconds),
    /// Ask a node whether the batch script of this run was launched, before it is launched or left alone.
    AskForScript(Script),
    /// Take over what the journal knows better than Slurm.
    TakeOver(LostRuns),
    /// The jobs that run on each of the nodes that were asked; `None` if a node has not answered.
    NodesTold(BTreeMap<String, Option<Vec<u32>>>),
    /// Requeue the job of this run, which has ended. It begins at this time at the earliest.
    Requeue(JobRun, Seconds),
    /// Take back what was entered into Slurm's records for its accounting.
    SettleAccounting,
    /// Look from time to time whether Slurm still counts the IPUs of this running job.
    WatchCount(Claim),
    /// Look at these jobs for the status document.
    LookAtJobs {
        /// The jobs.
        jobs: Vec<u32>,
        /// Whether all pending jobs with IPUs are looked at, too.
        and_all_pending: bool,
    },
    /// Finish a job_fini of this job that panicked.
    End {
        /// The job.
        job: u32,
        /// The ending that job_fini had given the job before it panicked, if any.
        ending: Option<Ending>,
    },
}
