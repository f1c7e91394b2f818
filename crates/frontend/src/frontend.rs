//! State that lives as long as one slurmctld is in charge of Slurm's jobs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use ledger::{Action, Claim, Ending, Event, LicenseReservations, Millis, ModelFacts, Seconds, WholeTimes};
use tracing::error;
use vipu_types::{GresType, IpuCount, JobRun, ModelName, Reason, Words};

use crate::before_takeover::FromBefore;
use crate::between_callbacks::{AccountingNotes, TestNotes};
use crate::clocks_and_queues::{HostTask, Outside};
use crate::expected_nodes::Expected;
use crate::internal_error;
use crate::models::Models;
use crate::mutex::{Mutex, lock};
use crate::shared_ledger::{LockedLedger, SharedLedger};
use crate::slurm::{Job, Verdict};
use crate::slurm_partition_ipus::Found;
use crate::status::seen_jobs::SeenJobs;
use crate::status::status_writer::StatusWriter;
use crate::whole_times::KnownTimes;

/// The time for which a job is not tried again after its job_begin failed, in milliseconds.
const AFTER_A_PANIC: u64 = 10_000;

/// The front end of one slurmctld: everything that Slurm's callbacks and the host thread share.
pub struct Frontend {
    outside: Box<dyn Outside>,
    shared_ledger: SharedLedger,
    models: Mutex<Arc<Models>>,
    /// The reason why no partition can be made until slurmctld is restarted.
    out_of_order: OnceLock<Words>,
    closed: AtomicBool,
    /// Whether the journal was read, or cannot be read.
    has_read_journal: AtomicBool,
    /// The job whose job_begin failed last, and the time of that failure.
    panicked: Mutex<Option<(u32, Millis)>>,
    /// Seconds between two looks of Slurm at a waiting job.
    scheduling_interval: AtomicI64,
    /// BatchStartTimeout of slurm.conf in seconds.
    batch_start_timeout: AtomicI64,
    pub(crate) test_notes: TestNotes,
    pub(crate) accounting_notes: AccountingNotes,
    pub(crate) before: FromBefore,
    /// The nodes on which jobs are expected whose partitions are made first.
    pub(crate) expected: Expected,
    /// The Slurm partitions that were found to have IPUs.
    pub(crate) slurm_partition_ipus: Found,
    /// The facts about jobs for the status document.
    pub(crate) seen_jobs: SeenJobs,
    pub(crate) status_writer: StatusWriter,
    /// The reservations of licences at the host thread's last look.
    license_reservations: Mutex<Arc<BTreeMap<ModelName, LicenseReservations>>>,
    /// The times in which only the largest jobs run.
    whole_times: KnownTimes,
}

impl Frontend {
    /// A front end without models and without jobs.
    #[must_use]
    pub fn new(outside: Box<dyn Outside>) -> Self {
        let status_writer = StatusWriter::default();
        Self {
            outside,
            shared_ledger: SharedLedger::new(status_writer.clone()),
            models: Mutex::default(),
            out_of_order: OnceLock::new(),
            closed: AtomicBool::new(false),
            has_read_journal: AtomicBool::new(false),
            panicked: Mutex::default(),
            scheduling_interval: AtomicI64::default(),
            batch_start_timeout: AtomicI64::default(),
            test_notes: TestNotes::default(),
            accounting_notes: AccountingNotes::default(),
            before: FromBefore::default(),
            expected: Expected::default(),
            slurm_partition_ipus: Found::default(),
            seen_jobs: SeenJobs::new(status_writer.clone()),
            status_writer,
            license_reservations: Mutex::default(),
            whole_times: KnownTimes::default(),
        }
    }

    /// Notes that another front end is in charge of Slurm's jobs. This one does nothing to them any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether [`Self::close`] was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Tells the ledger an event and passes on the actions that follow. False if the ledger panicked.
    pub fn tell(&self, event: Event) -> bool {
        self.tell_locked(self.ledger(), event)
    }

    /// As [`Self::tell`], after questions under the same lock.
    pub(crate) fn tell_locked(&self, ledger: LockedLedger<'_>, event: Event) -> bool {
        let told = self.shared_ledger.tell(ledger, &*self.outside, event);
        if !told {
            self.distrust();
        }
        told
    }

    /// Makes every IPU job wait, because the ledger may be wrong.
    pub fn distrust(&self) {
        self.distrust_because(&internal_error::until_restart());
    }

    /// Makes every IPU job wait with this reason. Jobs are not held at their end any more, because the thread
    /// that opens completion gates may be missing.
    pub fn distrust_because(&self, reason: &str) {
        self.shared_ledger.distrust();
        self.note_journal_read();
        if self.out_of_order.set(reason.into()).is_ok() {
            error!("no IPU job starts until slurmctld is restarted");
            self.tell_all_models();
        }
    }

    /// Makes every IPU job wait with this reason, because the thread that makes partitions has ended. The
    /// caller writes the reason into the log, as an error or as a warning.
    pub fn give_up(&self, reason: &str) {
        self.note_journal_read();
        let _ = self.out_of_order.set(reason.into());
        self.tell_all_models();
    }

    /// Notes that the partitions of the journal were taken over, or cannot be.
    pub fn note_journal_read(&self) {
        self.has_read_journal.store(true, Ordering::Release);
    }

    /// Whether [`Self::note_journal_read`] was called.
    pub(crate) fn has_read_journal(&self) -> bool {
        self.has_read_journal.load(Ordering::Acquire)
    }

    /// Whether a job that ends may be held in COMPLETING: only while its completion gate is sure to be
    /// opened.
    pub(crate) fn may_hold(&self) -> bool {
        !self.shared_ledger.is_distrusted()
    }

    /// The reason why no IPU job may start until slurmctld is restarted, if there is one. It takes precedence
    /// over the ledger.
    pub fn out_of_order(&self) -> Option<&str> {
        self.out_of_order.get().map(|reason| &**reason)
    }

    /// The ledger, locked for a question.
    pub fn ledger(&self) -> LockedLedger<'_> {
        self.shared_ledger.ledger()
    }

    /// The clocks and the queues.
    pub(crate) fn outside(&self) -> &dyn Outside {
        &*self.outside
    }

    /// The time on the ledger's clock.
    pub fn now(&self) -> Millis {
        self.outside.now()
    }

    /// Seconds without a look of Slurm after which a job counts as out of the line.
    pub(crate) fn patience(&self) -> i64 {
        2 * self.scheduling_interval.load(Ordering::Relaxed)
    }

    /// The longest time in seconds between a launch and the start of the batch script.
    pub(crate) fn batch_start_timeout(&self) -> i64 {
        self.batch_start_timeout.load(Ordering::Relaxed)
    }

    /// Takes the answers of nodes that were asked which jobs run there, by [`HostTask::NodesTold`].
    pub fn nodes_told(&self, jobs: BTreeMap<String, Option<Vec<u32>>>) {
        self.outside.ask_host(HostTask::NodesTold(jobs));
    }

    /// Notes that an earlier slurmctld launched the batch script of this run at this time. It is not launched again.
    pub(crate) fn note_launched_before(&self, claim: &Claim, at: Seconds) {
        lock(&self.before.launched).insert((claim.partition.clone(), claim.run.job), at);
    }

    /// Shows the reason why a job waits, by [`HostTask::ShowReason`].
    pub(crate) fn show_reason(&self, job: u32, reason: Reason) {
        self.outside.ask_host(HostTask::ShowReason { job, reason });
    }

    /// The answer to a test of a job that cannot start now, for this reason.
    pub(crate) fn wait(&self, job: impl Job, why: Reason) -> Verdict {
        self.show_reason(job.id(), why);
        Verdict::Wait
    }

    /// Shows in squeue that a job waits because of a fault in slurm-vipu.
    pub fn show_internal_error(&self, job: u32) {
        self.show_reason(job, internal_error::TO_USER.into());
    }

    /// Bounds the time for which the completion gate of this run stays raised, by [`HostTask::Limit`].
    pub(crate) fn limit_completion(&self, claim: Claim) {
        self.outside.ask_host(HostTask::Limit(claim));
    }

    /// Ends the run if it is not launched by the job's deadline, by [`HostTask::Deadline`]. A job without a
    /// deadline is left alone.
    pub(crate) fn mind_deadline(&self, job: impl Job, claim: &Claim) {
        if let Some(deadline) = job.deadline() {
            self.outside.ask_host(HostTask::Deadline(claim.clone(), Seconds(deadline)));
        }
    }

    /// Shows the progress of a create, by [`HostTask::SayCreating`].
    pub fn say_creating(&self, run: JobRun, progress: Reason, aloud: bool) {
        self.outside.ask_host(HostTask::SayCreating { run, progress, aloud });
    }

    /// Passes on actions that do not follow from an event.
    pub fn carry_out(&self, actions: Vec<Action>) {
        self.outside.carry_out(actions);
    }

    /// Makes the partition of a job that has no nodes yet, and watches it by [`HostTask::Watch`]. `ledger` is locked since
    /// the partition was chosen.
    pub(crate) fn prepare(&self, ledger: LockedLedger<'_>, claim: Claim) {
        self.tell_locked(ledger, Event::Prepare(claim.clone()));
        self.outside.ask_host(HostTask::Watch(claim));
    }

    /// Notes that job_begin of this job failed or panicked.
    pub(crate) fn begin_has_panicked(&self, job: u32) {
        *lock(&self.panicked) = Some((job, self.now()));
    }

    /// Whether job_begin of this job failed in the last seconds. After each failure Slurm's scheduler skips
    /// the rest of the Slurm partition in its pass, so the job is not tried again at once.
    pub(crate) fn has_begin_panicked(&self, job: u32) -> bool {
        let panicked = *lock(&self.panicked);
        panicked.is_some_and(|(id, when)| id == job && self.now().0 < when.0.saturating_add(AFTER_A_PANIC))
    }

    /// Finishes a job_fini of this job that panicked, by [`HostTask::End`].
    pub fn end_job(&self, job: u32, ending: Option<Ending>) {
        self.outside.ask_host(HostTask::End { job, ending });
    }

    /// The models in force.
    pub fn models(&self) -> Arc<Models> {
        Arc::clone(&lock(&self.models))
    }

    /// The GRES type of a job with a partition of this size ([`Models::gres_type`]).
    pub(crate) fn gres_type(&self, model: &ModelName, size: IpuCount) -> GresType {
        self.models().gres_type(model, size)
    }

    /// The reservations of each model's licence.
    pub(crate) fn license_reservations(&self) -> Arc<BTreeMap<ModelName, LicenseReservations>> {
        Arc::clone(&lock(&self.license_reservations))
    }

    /// Notes the reservations of each model's licence.
    pub(crate) fn set_license_reservations(&self, all: BTreeMap<ModelName, LicenseReservations>) {
        *lock(&self.license_reservations) = Arc::new(all);
    }

    /// The times of models in which only the largest jobs run.
    pub(crate) fn whole_times(&self) -> Arc<BTreeMap<ModelName, WholeTimes>> {
        self.whole_times.of_models(&self.models(), &*self.outside)
    }

    /// Notes that Slurm has read its configuration anew. `scheduling_interval` is the time between two looks
    /// at a waiting job, `batch_start_timeout` the longest time between a launch and the start of the script, in
    /// seconds. Nodes may have other numbers.
    pub fn slurm_was_configured(&self, scheduling_interval: i64, batch_start_timeout: i64) {
        self.expected.forget();
        self.scheduling_interval.store(scheduling_interval, Ordering::Relaxed);
        self.batch_start_timeout.store(batch_start_timeout, Ordering::Relaxed);
        self.nodes_have_changed();
    }

    /// Notes that the offers of nodes or Slurm partitions may have changed.
    pub fn nodes_have_changed(&self) {
        self.slurm_partition_ipus.forget();
    }

    /// Takes models into use. All prepared partitions are removed, because jobs may get other ones from now
    /// on.
    pub fn set_models(&self, models: Models) {
        *lock(&self.models) = Arc::new(models);
        self.whole_times.forget();
        let jobs: Vec<u32> = self.ledger().preparations().map(|it| it.claim.run.job).collect();
        for job in jobs {
            self.tell(Event::Forgo { job, in_vain: false });
        }
    }

    fn tell_all_models(&self) {
        self.tell_models(self.models().facts());
    }

    /// Tells the ledger the models.
    pub fn tell_models(&self, mut facts: Vec<ModelFacts>) {
        if let Some(reason) = self.out_of_order.get() {
            facts.iter_mut().for_each(|model| model.trouble = Some(reason.clone()));
        }
        self.tell(Event::Models(facts));
    }
}
