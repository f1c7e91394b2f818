//! The one place where everything meets: ledger, queues to the threads, models in force.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Instant;

use conf::{InForce, Kept};
use driver::{Handle, Host, Orders, Ownership};
use ledger::{Action, Event, Ledger, Millis, ModelFacts};
use slurm_host::differences::jobs_read;
use slurm_host::nodes::NodeGres;
use tracing::error;
use vipu_client::Client;

use crate::handover::Handover;
use crate::keeper::Keep;
use crate::models::{self, Models, Reading};
use crate::scheduling::{Asked, Told};
use crate::{host_thread, io_thread, keeper};

/// What the vipu-host thread is asked to do.
pub(crate) enum HostTask {
    /// Carry out an action of the ledger.
    Act(Action),
    /// Show why a job was not started, once the scheduler has finished its pass and overwritten it.
    ShowReason { job: u32, text: String },
}

/// Everything that lives as long as this slurmctld is in charge.
pub(crate) struct Site {
    ledger: Mutex<Ledger>,
    in_force: Mutex<InForce>,
    models: RwLock<Models>,
    /// Why no partition can be made until slurmctld is restarted.
    out_of_order: OnceLock<String>,
    /// That the journal is ours, once it is open.
    journal: OnceLock<Ownership>,
    driver: Handle<Client>,
    host: HostQueue,
    keeper: Sender<Keep>,
    began: Instant,
    closed: AtomicBool,
    /// Seconds between two looks of Slurm's at a waiting job.
    scheduling_interval: AtomicI64,
    /// Who has to go for a job, from before the stock selector's test of it to after that.
    pub(crate) victims: Handover<u32, Vec<u32>>,
    /// What backfill was told, until it asks again.
    pub(crate) told: Handover<Asked, Told>,
}

/// The way to the vipu-host thread; never waits.
pub(crate) struct HostQueue(Mutex<Sender<HostTask>>);

impl HostQueue {
    fn push(&self, task: HostTask) {
        // Fails only when the thread has ended, which it reported.
        let _ = lock(&self.0).send(task);
    }
}

impl Host for HostQueue {
    fn send(&self, action: Action) {
        self.push(HostTask::Act(action));
    }
}

static SITE: RwLock<Option<Arc<Site>>> = RwLock::new(None);

/// The site, once it was opened.
pub(crate) fn site() -> Option<Arc<Site>> {
    SITE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// What the threads read from, and whose threads they are: they end with it.
pub(crate) struct Ends {
    site: Weak<Site>,
    tasks: Receiver<HostTask>,
    orders: Orders<Client>,
    texts: Receiver<Keep>,
}

/// The site; a new one comes with the ends of its queues, for [`Ends::start_threads`].
pub(crate) fn open() -> (Arc<Site>, Option<Ends>) {
    let mut current = SITE.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(site) = &*current {
        return (Arc::clone(site), None);
    }
    let (site, ends) = Site::new();
    *current = Some(Arc::clone(&site));
    (site, Some(ends))
}

/// Closes the site if Slurm has read its jobs anew: as a backup that takes over for the second time. What the site knows
/// of them is of no use then, and who tells it of their end now tells of a run that another slurmctld has seen.
pub(crate) fn close_when_over() {
    let mut current = SITE.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(site) = current.take_if(|site| jobs_read::are_new() || site.is_superseded()) {
        site.closed.store(true, Ordering::Release);
    }
}

impl Ends {
    /// Starts vipu-host, vipu-io and vipu-conf: after the jobs of an earlier slurmctld were taken over, so that
    /// none of their partitions looks forgotten.
    ///
    /// # Errors
    /// When a thread cannot be started; one line. IPU jobs wait then.
    pub(crate) fn start_threads(self, state_save_location: &Path) -> Result<(), String> {
        host_thread::start(self.tasks, self.site.clone())?;
        keeper::start(self.texts)?;
        io_thread::start(self.orders, state_save_location.join("vipu_journal"), self.site)
    }
}

impl Site {
    fn new() -> (Arc<Self>, Ends) {
        let (driver, orders) = driver::channel();
        let (sender, tasks) = std::sync::mpsc::channel();
        let (keeper, texts) = std::sync::mpsc::channel();
        let site = Arc::new(Self {
            ledger: Mutex::new(Ledger::new()),
            in_force: Mutex::new(InForce::default()),
            models: RwLock::new(Models::default()),
            out_of_order: OnceLock::new(),
            journal: OnceLock::new(),
            driver,
            host: HostQueue(Mutex::new(sender)),
            keeper,
            began: Instant::now(),
            closed: AtomicBool::new(false),
            scheduling_interval: AtomicI64::default(),
            victims: Handover::default(),
            told: Handover::default(),
        });
        let ends = Ends { site: Arc::downgrade(&site), tasks, orders, texts };
        (site, ends)
    }

    /// The journal is open.
    pub(crate) fn set_journal(&self, journal: Ownership) {
        let _ = self.journal.set(journal);
    }

    /// Whether another slurmctld has been in charge since. Reads a small file.
    fn is_superseded(&self) -> bool {
        self.journal.get().is_some_and(|journal| journal.is_lost().unwrap_or(false))
    }

    /// Whether this is the site no more: what it still wanted done is of an earlier term.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Tells the ledger what happened and passes on what it wants done.
    ///
    /// The queues are filled while the ledger is locked, so that actions leave in the order they were decided.
    pub(crate) fn tell(&self, event: Event) {
        let mut ledger = self.ledger();
        let actions = ledger.apply(self.now(), event);
        self.driver.route(actions, &self.host);
    }

    /// The ledger, for a question.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Milliseconds since the site was started: the ledger's clock.
    pub(crate) fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Seconds without a look after which a job is taken to be out of the line.
    pub(crate) fn patience(&self) -> i64 {
        2 * self.scheduling_interval.load(Ordering::Relaxed)
    }

    /// Has the reason for waiting shown; [`HostTask::ShowReason`].
    pub(crate) fn show_reason(&self, job: u32, text: String) {
        self.host.push(HostTask::ShowReason { job, text });
    }

    /// Asks the models in force.
    pub(crate) fn models<R>(&self, ask: impl FnOnce(&Models) -> R) -> R {
        ask(&self.models.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the models' files anew. What did not change goes on undisturbed.
    pub(crate) fn reconfigure(&self, nodes: &[NodeGres]) {
        self.scheduling_interval.store(slurm_host::conf::scheduling_interval(), Ordering::Relaxed);
        let folders = slurm_host::conf::folder().zip(slurm_host::conf::state_save_location());
        let Some((folder, state)) = folders else {
            error!("slurm.conf has no folder to look for vipu.conf in, or no StateSaveLocation");
            return;
        };
        let kept = Kept::in_dir(state);
        let Reading { models, facts, good } = models::read(nodes, &folder, &kept, &mut lock(&self.in_force));
        // Fails only when the thread has ended, which it reported.
        let _ = self.keeper.send(Keep { kept, good });
        if self.models(|before| *before != models) {
            self.driver.configure(models.setups());
            *self.models.write().unwrap_or_else(PoisonError::into_inner) = models;
        }
        // Whoever reconfigures may have mended the controller, and does not want to wait for the next look.
        let look: Vec<_> = facts.iter().flat_map(ModelFacts::pods).map(Action::Survey).collect();
        self.tell_models(facts);
        self.driver.route(look, &self.host);
    }

    /// Makes every IPU job wait with this reason: what makes partitions has ended. Whether that is an error, the
    /// caller says in the log.
    pub(crate) fn give_up(&self, reason: &str) {
        let _ = self.out_of_order.set(reason.to_owned());
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

/// A panic elsewhere is no reason to stop here: each change behind these mutexes is complete in itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
