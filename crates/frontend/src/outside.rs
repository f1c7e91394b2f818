//! What the front end needs besides Slurm: clocks, and the ways to the threads that carry out what is decided.

use ledger::{Action, Claim, Ending, HostAction, Millis, Seconds};
use vipu_types::JobRun;

/// Clocks and queues. Nothing here waits: all of it is called under slurmctld's locks, and the queues while the ledger is
/// locked.
pub trait Outside: Send + Sync {
    /// The ledger's clock: milliseconds since the front end began.
    fn now(&self) -> Millis;
    /// Slurm's clock: seconds since the Unix epoch.
    fn unix_time(&self) -> Seconds;
    /// A time as Slurm's commands show it: local, `2026-11-21T12:34:56`.
    fn local_time(&self, at: Seconds) -> String;
    /// Passes each action to whoever carries it out: the driver, or the thread that does [`HostTask`]s.
    fn carry_out(&self, actions: Vec<Action>);
    /// Has the journal say that the batch script of this run was launched then.
    fn note_launched(&self, claim: Claim, at: Seconds);
    /// Has the thread that may take Slurm's locks do this.
    fn ask_host(&self, task: HostTask);
    /// Whether the plugin has switched itself off, because Slurm's records do not look as its release says.
    fn is_switched_off(&self) -> bool;
}

/// What the thread that may take Slurm's locks is asked to do.
#[derive(Clone, Debug)]
pub enum HostTask {
    /// Carry out an action of the ledger.
    Act(HostAction),
    /// See that Slurm does not wait for ever for the end of this run.
    Limit(Claim),
    /// See that what is prepared for a job goes when the job does not wait for it any more.
    Watch(Claim),
    /// Show why a job was not started, once the scheduler has finished its pass and overwritten it.
    ShowReason {
        /// The job.
        job: u32,
        /// The reason.
        text: String,
    },
    /// See that the reason which an earlier slurmctld gave this job goes when it is over.
    WatchReason(u32),
    /// Show how the create of a partition goes: as the run's reason, and at the terminal of srun or salloc if `aloud`.
    SayCreating {
        /// The run.
        run: JobRun,
        /// How it goes.
        line: String,
        /// Whether it is worth a line at the terminal.
        aloud: bool,
    },
    /// End this run if it was not launched by then, its deadline.
    Deadline(Claim, Seconds),
    /// Put a job back into the queue whose run failed.
    Requeue(JobRun),
    /// Do what a job_fini of this job did not come to.
    End {
        /// The job.
        job: u32,
        /// What the job_fini had done to the job, if it came that far.
        ending: Option<Ending>,
    },
}
