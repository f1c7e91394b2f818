//! The one place where everything meets: ledger, queues to the threads, models in force.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use driver::{Orders, Ownership};
use ledger::{Action, Claim, Ending, Event, Millis, ModelFacts, Seconds};
use slurm_host::differences::jobs_read;
use slurm_host::job::JobRef;
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_client::Client;
use vipu_conf::{InForce, SavedConf};
use vipu_types::{JobRun, ModelName, PartitionId};

use crate::between_callbacks::BetweenCallbacks;
use crate::expected::Expected;
use crate::models::{self, Models, Reading};
use crate::places;
use crate::preparing::{JobsBefore, OnNodes};
use crate::saved_conf::Save;
use crate::scheduling::{Asked, Told};
use crate::shared_ledger::{LockedLedger, SharedLedger};
use crate::start_line::Surroundings;
use crate::sync::{Mutex, lock};
use crate::{host_thread, internal_error, io_thread, saved_conf};

/// How long a job is not tried again whose job_begin panicked.
const AFTER_A_FAULT: Duration = Duration::from_secs(10);

/// What the vipu-host thread is asked to do.
pub(crate) enum HostTask {
    /// Carry out an action of the ledger.
    Act(Action),
    /// See that Slurm does not wait for ever for the end of this run.
    Limit(Claim),
    /// See that what is prepared for a job goes when the job does not wait for it any more.
    Watch(Claim),
    /// Show why a job was not started, once the scheduler has finished its pass and overwritten it.
    ShowReason { job: u32, text: String },
    /// See that the reason which an earlier slurmctld gave this job goes when it is over.
    WatchReason(u32),
    /// Say how the making of its partition goes: as the run's reason, and to the user of srun or salloc, if it is worth that.
    SayCreating { run: JobRun, line: String, aloud: bool },
    /// End this run if it was not launched by then, its deadline.
    Deadline(Claim, Seconds),
    /// Put a job back into the queue whose run failed.
    Requeue(JobRun),
    /// Do what a job_fini of this job did not come to; this much of it was done.
    End { job: u32, ending: Option<Ending> },
}

/// Everything that lives as long as this slurmctld is in charge.
pub(crate) struct Plugin {
    shared_ledger: SharedLedger,
    in_force: Mutex<InForce>,
    models: RwLock<Models>,
    /// Why no partition can be made until slurmctld is restarted.
    out_of_order: OnceLock<String>,
    /// That the journal is ours, once it is open.
    journal: OnceLock<Ownership>,
    conf_saver: Sender<Save>,
    began: Instant,
    closed: AtomicBool,
    started: AtomicBool,
    /// The job whose job_begin panicked last, and when.
    spoilt: Mutex<Option<(u32, Instant)>>,
    /// Seconds between two looks of Slurm's at a waiting job.
    scheduling_interval: AtomicI64,
    /// Who has to go for a job, from before the stock selector's test of it to after that.
    pub(crate) victims: BetweenCallbacks<u32, Vec<u32>>,
    /// What follows when the stock selector finds nodes for a start, from before its test to after that.
    pub(crate) on_nodes: BetweenCallbacks<u32, OnNodes>,
    /// When batch scripts were launched by an earlier slurmctld, as far as the journal tells, by partition.
    pub(crate) launched_before: Mutex<HashMap<PartitionId, Seconds>>,
    /// On which nodes jobs are expected whose partitions are made first.
    pub(crate) expected: Expected,
    /// What there was when this slurmctld took over.
    pub(crate) jobs_before: JobsBefore,
    /// What backfill was told, until it asks again.
    pub(crate) told: BetweenCallbacks<Asked, Told>,
    /// Where there are IPUs.
    pub(crate) places: places::Found,
}

static PLUGIN: RwLock<Option<Arc<Plugin>>> = RwLock::new(None);

/// The plugin, once it was opened.
pub(crate) fn plugin() -> Option<Arc<Plugin>> {
    PLUGIN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What the threads read from, and whose threads they are: they end with it.
pub(crate) struct Ends {
    plugin: Weak<Plugin>,
    tasks: Receiver<HostTask>,
    orders: Orders<Client>,
    texts: Receiver<Save>,
}

/// The plugin; a new one comes with the ends of its queues, for [`Ends::start_host`].
pub(crate) fn open() -> (Arc<Plugin>, Option<Ends>) {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = &*current {
        return (Arc::clone(plugin), None);
    }
    let (plugin, ends) = Plugin::new();
    *current = Some(Arc::clone(&plugin));
    (plugin, Some(ends))
}

/// Closes the plugin if Slurm has read its jobs anew: as a backup that takes over for the second time. What the plugin knows
/// of them is of no use then, and who tells it of their end now tells of a run that another slurmctld has seen.
pub(crate) fn close_when_over() {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = current.take_if(|plugin| jobs_read::are_new() || plugin.is_superseded()) {
        plugin.closed.store(true, Ordering::Release);
    }
}

/// Closes a plugin that never came to Slurm's jobs: the next reconfigure makes another.
pub(crate) fn close_unstarted() {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = current.take_if(|plugin| !plugin.started.load(Ordering::Acquire)) {
        plugin.closed.store(true, Ordering::Release);
    }
}

/// What the driver reads from, and whose it is.
pub(crate) struct DriverEnds {
    plugin: Weak<Plugin>,
    orders: Orders<Client>,
}

impl Ends {
    /// Starts vipu-host and vipu-conf: before any job of an earlier slurmctld is held for vipu-host to let go.
    ///
    /// # Errors
    /// When vipu-host cannot be started; one line.
    pub(crate) fn start_host(self) -> Result<DriverEnds, String> {
        let Self { plugin, tasks, orders, texts } = self;
        host_thread::start(tasks, plugin.clone())?;
        if let Err(why) = saved_conf::start(texts) {
            error!("{why}: a later slurmctld will not know the settings that are in force now");
        }
        Ok(DriverEnds { plugin, orders })
    }
}

impl DriverEnds {
    /// Starts vipu-io: after the jobs of an earlier slurmctld were taken over, so that none of their partitions looks
    /// forgotten. Without a journal it makes and removes nothing.
    ///
    /// # Errors
    /// When the thread cannot be started; one line.
    pub(crate) fn start_driver(self, journal: Option<PathBuf>, around: Surroundings) -> Result<(), String> {
        io_thread::start(self.orders, journal, around, self.plugin)
    }
}

impl Plugin {
    fn new() -> (Arc<Self>, Ends) {
        let (driver, orders) = driver::channel();
        let (sender, tasks) = std::sync::mpsc::channel();
        let (conf_saver, texts) = std::sync::mpsc::channel();
        let plugin = Arc::new(Self {
            shared_ledger: SharedLedger::new(driver, sender),
            in_force: Mutex::new(InForce::default()),
            models: RwLock::new(Models::default()),
            out_of_order: OnceLock::new(),
            journal: OnceLock::new(),
            conf_saver,
            began: Instant::now(),
            closed: AtomicBool::new(false),
            started: AtomicBool::new(false),
            spoilt: Mutex::default(),
            scheduling_interval: AtomicI64::default(),
            victims: BetweenCallbacks::default(),
            on_nodes: BetweenCallbacks::default(),
            launched_before: Mutex::default(),
            expected: Expected::default(),
            jobs_before: JobsBefore::default(),
            told: BetweenCallbacks::default(),
            places: places::Found::default(),
        });
        let ends = Ends { plugin: Arc::downgrade(&plugin), tasks, orders, texts };
        (plugin, ends)
    }

    /// The journal is open.
    pub(crate) fn set_journal(&self, journal: Ownership) {
        let _ = self.journal.set(journal);
    }

    /// Slurm's jobs are being taken over, for which there is one try.
    pub(crate) fn set_started(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// Whether another slurmctld was seen to have been in charge since. One that was within the last seconds only may
    /// have been missed: then this one is found to be superseded a moment later, and stands back.
    fn is_superseded(&self) -> bool {
        self.journal.get().is_some_and(Ownership::was_lost)
    }

    /// Whether this is the plugin no more: what it still wanted done is of an earlier term.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Tells the ledger what happened and has done what it wants. False if that showed a fault in the ledger.
    pub(crate) fn tell(&self, event: Event) -> bool {
        let told = self.shared_ledger.tell(|| self.now(), event);
        if !told {
            self.distrust();
        }
        told
    }

    /// Makes every IPU job wait: what the ledger says may not be true.
    pub(crate) fn distrust(&self) {
        self.distrust_because(&internal_error::until_restart());
    }

    /// Makes every IPU job wait with this reason, and holds no job at its end: who is to let it go may not be there.
    pub(crate) fn distrust_because(&self, reason: &str) {
        self.shared_ledger.distrusted.store(true, Ordering::Release);
        if self.out_of_order.set(reason.to_owned()).is_ok() {
            error!("no IPU job starts until slurmctld is restarted");
            self.tell_all_models();
        }
    }

    /// Whether a job that ends may be held in COMPLETING: somebody has to let it go.
    pub(crate) fn may_hold(&self) -> bool {
        !self.shared_ledger.distrusted.load(Ordering::Acquire)
    }

    /// Why no IPU job may start until slurmctld is restarted, whatever the ledger says.
    pub(crate) fn out_of_order(&self) -> Option<&str> {
        self.out_of_order.get().map(String::as_str)
    }

    /// The ledger, for a question.
    pub(crate) fn ledger(&self) -> LockedLedger<'_> {
        self.shared_ledger.ledger()
    }

    /// The id for the next partition that is asked for this run.
    pub(crate) fn new_id(&self, model: &ModelName, run: JobRun) -> Option<PartitionId> {
        let id = self.ledger().new_id(self.now(), model, run.job, run.restart);
        if id.is_none() {
            error!("{run}: model {model} has no id for another partition of it");
        }
        id
    }

    /// Milliseconds since the plugin was started: the ledger's clock.
    pub(crate) fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Seconds without a look after which a job is taken to be out of the line.
    pub(crate) fn patience(&self) -> i64 {
        2 * self.scheduling_interval.load(Ordering::Relaxed)
    }

    /// Has the reason for waiting shown; [`HostTask::ShowReason`].
    pub(crate) fn show_reason(&self, job: u32, text: String) {
        self.shared_ledger.host.push(HostTask::ShowReason { job, text });
    }

    /// Has an earlier slurmctld's reason taken back when it is over; [`HostTask::WatchReason`].
    pub(crate) fn watch_reason(&self, job: u32) {
        self.shared_ledger.host.push(HostTask::WatchReason(job));
    }

    /// Says how the making of a partition goes; [`HostTask::SayCreating`].
    pub(crate) fn say_creating(&self, run: JobRun, line: String, aloud: bool) {
        self.shared_ledger.host.push(HostTask::SayCreating { run, line, aloud });
    }

    /// A completion gate was raised for this run, which must not be for ever: [`HostTask::Limit`].
    pub(crate) fn limit_completion(&self, claim: Claim) {
        self.shared_ledger.host.push(HostTask::Limit(claim));
    }

    /// Has a run ended that is not launched by the job's deadline, if it has one; [`HostTask::Deadline`].
    pub(crate) fn mind_deadline(&self, job: JobRef<'_>, claim: &Claim) {
        if let Some(deadline) = job.deadline() {
            self.shared_ledger.host.push(HostTask::Deadline(claim.clone(), Seconds(deadline)));
        }
    }

    /// Has the journal say that the batch script of this run was launched just now.
    pub(crate) fn note_launched(&self, claim: Claim) {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Seconds(i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX));
        self.shared_ledger.driver.launched(claim, now);
    }

    /// Has a job put back into the queue whose run failed; [`HostTask::Requeue`].
    pub(crate) fn requeue(&self, run: JobRun) {
        self.shared_ledger.host.push(HostTask::Requeue(run));
    }

    /// Has the partition of a job made that has no nodes yet; [`HostTask::Watch`].
    pub(crate) fn prepare(&self, claim: Claim) {
        self.tell(Event::Prepare(claim.clone()));
        self.shared_ledger.host.push(HostTask::Watch(claim));
    }

    /// Has all removed that was prepared: it may not be what jobs would be given from now on.
    fn forgo_all(&self) {
        let jobs: Vec<u32> = self.ledger().preparations().map(|it| it.claim.run.job).collect();
        for job in jobs {
            self.tell(Event::Forgo { job, in_vain: false });
        }
    }

    /// The job's job_begin panicked.
    pub(crate) fn begin_was_spoilt(&self, job: u32) {
        *lock(&self.spoilt) = Some((job, Instant::now()));
    }

    /// Whether the job's job_begin panicked a moment ago: each time that happens nobody else in the Slurm partition is
    /// looked at for the rest of the scheduler's pass.
    pub(crate) fn is_spoilt(&self, job: u32) -> bool {
        lock(&self.spoilt).is_some_and(|(spoilt, when)| spoilt == job && when.elapsed() < AFTER_A_FAULT)
    }

    /// Has a job ended that a job_fini was for; [`HostTask::End`].
    pub(crate) fn end_job(&self, job: u32, ending: Option<Ending>) {
        self.shared_ledger.host.push(HostTask::End { job, ending });
    }

    /// Asks the models in force.
    pub(crate) fn models<R>(&self, ask: impl FnOnce(&Models) -> R) -> R {
        ask(&self.models.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the models' files anew. What did not change goes on undisturbed.
    pub(crate) fn reconfigure(&self, nodes: &[NodeGres]) {
        self.expected.forget();
        self.places.forget();
        self.scheduling_interval.store(slurm_host::conf::scheduling_interval(), Ordering::Relaxed);
        let folders = slurm_host::conf::folder().zip(slurm_host::conf::state_save_location());
        let Some((folder, state)) = folders else {
            error!("slurm.conf has no folder to look for vipu.conf in, or no StateSaveLocation");
            return;
        };
        let kept = SavedConf::in_dir(state);
        let reading = models::read(nodes, &folder, &kept, &mut lock(&self.in_force));
        self.take_over_reading(reading, kept);
    }

    /// Takes over what nodes offer now. Files are read of models only that no node had before.
    pub(crate) fn nodes_changed(&self, nodes: &[NodeGres]) {
        self.places.forget();
        let folders = slurm_host::conf::folder().zip(slurm_host::conf::state_save_location());
        let Some((folder, state)) = folders else { return };
        let kept = SavedConf::in_dir(state);
        let reading = models::read_new(nodes, &folder, &kept, &mut lock(&self.in_force));
        self.take_over_reading(reading, kept);
    }

    fn take_over_reading(&self, Reading { models, facts, good }: Reading, kept: SavedConf) {
        // Fails only when the thread has ended, which it reported.
        let _ = self.conf_saver.send(Save { kept, good });
        if self.models(|before| *before != models) {
            self.shared_ledger.driver.configure(models.setups());
            *self.models.write().unwrap_or_else(PoisonError::into_inner) = models;
            self.forgo_all();
        }
        // Whoever reconfigures may have mended the controller, and does not want to wait for the next look.
        let look: Vec<_> = facts.iter().flat_map(ModelFacts::pods).map(Action::Survey).collect();
        self.tell_models(facts);
        self.shared_ledger.driver.route(look, &self.shared_ledger.host);
    }

    /// Makes every IPU job wait with this reason: what makes partitions has ended. Whether that is an error, the
    /// caller says in the log.
    pub(crate) fn give_up(&self, reason: &str) {
        let _ = self.out_of_order.set(reason.to_owned());
        self.tell_all_models();
    }

    fn tell_all_models(&self) {
        let facts =
            self.models(|models| models.0.iter().map(|(name, model)| model.facts(name, None)).collect());
        self.tell_models(facts);
    }

    fn tell_models(&self, mut facts: Vec<ModelFacts>) {
        if let Some(reason) = self.out_of_order.get() {
            facts.iter_mut().for_each(|model| model.trouble = Some(reason.clone()));
        }
        self.tell(Event::Models(facts));
    }
}
