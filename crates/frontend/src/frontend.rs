//! What lives as long as one slurmctld is in charge of Slurm's jobs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use ledger::{Action, Claim, Ending, Event, Millis, ModelFacts, Seconds};
use tracing::error;
use vipu_types::{JobRun, ModelName, PartitionId};

use crate::between_callbacks::{Asked, BetweenCallbacks, OnNodes, Told};
use crate::expected::Expected;
use crate::internal_error;
use crate::jobs_before::JobsBefore;
use crate::models::Models;
use crate::outside::{HostTask, Outside};
use crate::shared_ledger::{LockedLedger, SharedLedger};
use crate::slurm::Job;
use crate::slurm_partition_ipus::Found;
use crate::sync::{Mutex, lock};

/// How long a job is not tried again whose job_begin panicked, in milliseconds.
const AFTER_A_PANIC: u64 = 10_000;

/// The front end of one slurmctld: everything that Slurm's callbacks and the host thread share.
pub struct Frontend {
    outside: Box<dyn Outside>,
    shared_ledger: SharedLedger,
    models: RwLock<Models>,
    /// Why no partition can be made until slurmctld is restarted.
    out_of_order: OnceLock<String>,
    closed: AtomicBool,
    /// The job whose job_begin panicked last, and when.
    panicked: Mutex<Option<(u32, Millis)>>,
    /// Seconds between two looks of Slurm's at a waiting job.
    scheduling_interval: AtomicI64,
    /// The jobs that have to go for a job, from before the stock selector's test of it to after that.
    pub(crate) victims: BetweenCallbacks<u32, Vec<u32>>,
    /// What follows when the stock selector finds nodes for a start, from before its test to after that.
    pub(crate) on_nodes: BetweenCallbacks<u32, OnNodes>,
    /// When batch scripts were launched by an earlier slurmctld, as far as the journal tells, by partition.
    pub(crate) launched_before: Mutex<HashMap<PartitionId, Seconds>>,
    /// On which nodes jobs are expected whose partitions are made first.
    pub(crate) expected: Expected,
    /// The jobs that there were when this slurmctld took over.
    pub(crate) jobs_before: JobsBefore,
    /// What backfill was told, until it asks again.
    pub(crate) told: BetweenCallbacks<Asked, Told>,
    /// Where there are IPUs.
    pub(crate) slurm_partition_ipus: Found,
}

impl Frontend {
    /// A front end without models, which knows of no job.
    #[must_use]
    pub fn new(outside: Box<dyn Outside>) -> Self {
        Self {
            outside,
            shared_ledger: SharedLedger::default(),
            models: RwLock::default(),
            out_of_order: OnceLock::new(),
            closed: AtomicBool::new(false),
            panicked: Mutex::default(),
            scheduling_interval: AtomicI64::default(),
            victims: BetweenCallbacks::default(),
            on_nodes: BetweenCallbacks::default(),
            launched_before: Mutex::default(),
            expected: Expected::default(),
            jobs_before: JobsBefore::default(),
            told: BetweenCallbacks::default(),
            slurm_partition_ipus: Found::default(),
        }
    }

    /// Another is in charge of Slurm's jobs: nothing is done to them any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether this is in charge no more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Tells the ledger what happened and has done what it wants. False if that showed a fault in the ledger.
    pub fn tell(&self, event: Event) -> bool {
        let told = self.shared_ledger.tell(&*self.outside, event);
        if !told {
            self.distrust();
        }
        told
    }

    /// Makes every IPU job wait: what the ledger says may not be true.
    pub fn distrust(&self) {
        self.distrust_because(&internal_error::until_restart());
    }

    /// Makes every IPU job wait with this reason, and holds no job at its end: the thread that would let it go may not be
    /// there.
    pub fn distrust_because(&self, reason: &str) {
        self.shared_ledger.distrust();
        if self.out_of_order.set(reason.to_owned()).is_ok() {
            error!("no IPU job starts until slurmctld is restarted");
            self.tell_all_models();
        }
    }

    /// Makes every IPU job wait with this reason: what makes partitions has ended. Whether that is an error, the
    /// caller says in the log.
    pub fn give_up(&self, reason: &str) {
        let _ = self.out_of_order.set(reason.to_owned());
        self.tell_all_models();
    }

    /// Whether a job that ends may be held in COMPLETING: somebody has to let it go.
    pub(crate) fn may_hold(&self) -> bool {
        !self.shared_ledger.is_distrusted()
    }

    /// Why no IPU job may start until slurmctld is restarted, whatever the ledger says.
    pub fn out_of_order(&self) -> Option<&str> {
        self.out_of_order.get().map(String::as_str)
    }

    /// The ledger, for a question.
    pub fn ledger(&self) -> LockedLedger<'_> {
        self.shared_ledger.ledger()
    }

    /// Clocks and queues.
    pub(crate) fn outside(&self) -> &dyn Outside {
        &*self.outside
    }

    /// The ledger's clock.
    pub fn now(&self) -> Millis {
        self.outside.now()
    }

    /// The id for the next partition that is asked for this run.
    pub(crate) fn new_id(&self, model: &ModelName, run: JobRun) -> Option<PartitionId> {
        let id = self.ledger().new_id(self.now(), model, run.job, run.restart);
        if id.is_none() {
            error!("{run}: model {model} has no id for another partition of it");
        }
        id
    }

    /// Seconds without a look after which a job is taken to be out of the line.
    pub(crate) fn patience(&self) -> i64 {
        2 * self.scheduling_interval.load(Ordering::Relaxed)
    }

    /// Has the reason for waiting shown; [`HostTask::ShowReason`].
    pub(crate) fn show_reason(&self, job: u32, text: String) {
        self.outside.ask_host(HostTask::ShowReason { job, text });
    }

    /// Has squeue say that this job waits because of a fault in this program.
    pub fn show_internal_error(&self, job: u32) {
        self.show_reason(job, internal_error::to_user());
    }

    /// A completion gate was raised for this run, which must not be for ever: [`HostTask::Limit`].
    pub(crate) fn limit_completion(&self, claim: Claim) {
        self.outside.ask_host(HostTask::Limit(claim));
    }

    /// Has a run ended that is not launched by the job's deadline, if it has one; [`HostTask::Deadline`].
    pub(crate) fn mind_deadline(&self, job: impl Job, claim: &Claim) {
        if let Some(deadline) = job.deadline() {
            self.outside.ask_host(HostTask::Deadline(claim.clone(), Seconds(deadline)));
        }
    }

    /// Says how the making of a partition goes; [`HostTask::SayCreating`].
    pub fn say_creating(&self, run: JobRun, line: String, aloud: bool) {
        self.outside.ask_host(HostTask::SayCreating { run, line, aloud });
    }

    /// Passes on actions that are no answer to an event.
    pub fn carry_out(&self, actions: Vec<Action>) {
        self.outside.carry_out(actions);
    }

    /// Has the partition of a job made that has no nodes yet; [`HostTask::Watch`].
    pub(crate) fn prepare(&self, claim: Claim) {
        self.tell(Event::Prepare(claim.clone()));
        self.outside.ask_host(HostTask::Watch(claim));
    }

    /// The job's job_begin panicked.
    pub(crate) fn begin_has_panicked(&self, job: u32) {
        *lock(&self.panicked) = Some((job, self.now()));
    }

    /// Whether the job's job_begin panicked a moment ago: each time that happens nobody else in the Slurm partition is
    /// looked at for the rest of the scheduler's pass.
    pub(crate) fn has_begin_panicked(&self, job: u32) -> bool {
        let panicked = *lock(&self.panicked);
        panicked.is_some_and(|(id, when)| id == job && self.now().0 < when.0.saturating_add(AFTER_A_PANIC))
    }

    /// Has a job ended that a job_fini was for; [`HostTask::End`].
    pub fn end_job(&self, job: u32, ending: Option<Ending>) {
        self.outside.ask_host(HostTask::End { job, ending });
    }

    /// Asks the models in force.
    pub fn models<R>(&self, ask: impl FnOnce(&Models) -> R) -> R {
        ask(&self.models.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Slurm has read its configuration anew: it looks at a waiting job so often, in seconds, and nodes may have other numbers.
    pub fn slurm_was_configured(&self, scheduling_interval: i64) {
        self.expected.forget();
        self.scheduling_interval.store(scheduling_interval, Ordering::Relaxed);
        self.nodes_have_changed();
    }

    /// What nodes or Slurm partitions offer may not be what it was.
    pub fn nodes_have_changed(&self) {
        self.slurm_partition_ipus.forget();
    }

    /// Takes models into use. All that was prepared is removed: it may not be what jobs would be given from now on.
    pub fn set_models(&self, models: Models) {
        *self.models.write().unwrap_or_else(PoisonError::into_inner) = models;
        let jobs: Vec<u32> = self.ledger().preparations().map(|it| it.claim.run.job).collect();
        for job in jobs {
            self.tell(Event::Forgo { job, in_vain: false });
        }
    }

    fn tell_all_models(&self) {
        self.tell_models(self.models(Models::facts));
    }

    /// Tells the ledger what models there are.
    pub fn tell_models(&self, mut facts: Vec<ModelFacts>) {
        if let Some(reason) = self.out_of_order.get() {
            facts.iter_mut().for_each(|model| model.trouble = Some(reason.clone()));
        }
        self.tell(Event::Models(facts));
    }
}
