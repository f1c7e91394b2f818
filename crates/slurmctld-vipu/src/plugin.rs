//! The plugin of one slurmctld: its front end, the models' files, and the queues to its threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::Instant;

use driver::{Handle, Host, Orders, Ownership};
use frontend::{Frontend, HostTask, Outside};
use ledger::{Action, Claim, DriverAction, EndedRun, HostAction, Millis, ModelFacts, Seconds};
use slurm_host::differences::job_records_are_new;
use slurm_host::node_gres::NodeGres;
use slurm_host::{local_time, selfcheck};
use tokio::sync::watch;
use tracing::{error, warn};
use vipu_admin::SOCKET;
use vipu_client::Client;
use vipu_conf::{AdminSocket, AuditLevel, InForce, SavedConf, Standing};
use vipu_status::ConfFile;
use vipu_types::{ModelName, PodId};

use crate::audit_thread::{self, Audit, AuditLines, ClaimOf};
use crate::counters::Counters;
use crate::model_files::{self, Connect, Reading};
use crate::reporting_controller::ReportingController;
use crate::saved_conf::Save;
use crate::uncounted;

/// Everything that lives as long as this slurmctld is in charge.
pub(crate) struct Plugin {
    pub(crate) frontend: Frontend,
    /// Orders for the driver.
    driver: Handle<ReportingController>,
    in_force: Mutex<InForce>,
    /// The time at which the plugin was opened, and the time at which the models' files were last read.
    opened: i64,
    conf_read: AtomicI64,
    /// Whether PrivateData keeps users from seeing the jobs of others.
    hides_jobs: AtomicBool,
    /// Whether PrivateData keeps users from seeing reservations.
    hides_reservations: AtomicBool,
    /// Licenses of slurm.conf when it was last read.
    licenses: Mutex<Option<String>>,
    /// The ownership of the journal, once it is open.
    journal: OnceLock<Ownership>,
    pub(crate) counters: Counters,
    pub(crate) audit: Audit,
    conf_saver: Sender<Save>,
    admin: watch::Sender<AdminSettings>,
    started: AtomicBool,
}

/// The clocks of this host, and the queues to the threads.
struct Threads {
    began: Instant,
    driver: Handle<ReportingController>,
    host: HostQueue,
}

/// The queue to the vipu-host thread. To push never waits.
struct HostQueue(Sender<HostTask>);

impl HostQueue {
    fn push(&self, task: HostTask) {
        // Fails only after the thread has ended, which is in the log.
        let _ = self.0.send(task);
    }
}

impl Host for HostQueue {
    fn send(&self, action: HostAction) {
        self.push(HostTask::Act(action));
    }
}

impl Outside for Threads {
    fn now(&self) -> Millis {
        Millis(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn unix_time(&self) -> Seconds {
        Seconds(local_time::now())
    }

    fn local_time(&self, at: Seconds) -> String {
        local_time::text(at.0)
    }

    fn utc_offset(&self, at: Seconds) -> i64 {
        local_time::utc_offset(at.0)
    }

    fn carry_out(&self, actions: Vec<Action>) {
        self.driver.route(actions, &self.host);
    }

    fn note_launched(&self, claim: Claim, at: Seconds) {
        self.driver.launched(claim, at);
    }

    fn note_ended(&self, claim: Claim, ended: EndedRun) {
        self.driver.ended(claim, ended);
    }

    fn ask_host(&self, task: HostTask) {
        self.host.push(task);
    }

    fn is_switched_off(&self) -> bool {
        selfcheck::is_pass_through()
    }

    fn is_ending(&self) -> bool {
        slurm_host::is_ending()
    }
}

/// Finds the claim of a partition, as long as the plugin lives.
fn claim_of(plugin: &Weak<Plugin>) -> Arc<ClaimOf> {
    let plugin = plugin.clone();
    Arc::new(move |pod, partition| plugin.upgrade()?.frontend.ledger().claim_of(pod, partition))
}

/// The socket and its user, from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AdminSettings {
    /// None if there is to be no socket.
    pub(crate) path: Option<PathBuf>,
    /// SlurmUser, who may use it besides root.
    pub(crate) slurm_user: u32,
}

impl AdminSettings {
    /// Reads the settings. `folder` is that of vipu.conf. Only in a callback that runs under the configuration
    /// lock.
    pub(crate) fn read(folder: &Path) -> Self {
        let beside_pid_file = || Some(slurm_host::conf::slurmctld_pid_file()?.parent()?.join(SOCKET));
        let path = match vipu_conf::admin_socket_of(folder) {
            Some(AdminSocket::At(path)) => Some(path),
            Some(AdminSocket::None) => None,
            None => beside_pid_file(),
        };
        Self { path, slurm_user: slurm_host::conf::slurm_user().unwrap_or_default() }
    }
}

static PLUGIN: RwLock<Option<Arc<Plugin>>> = RwLock::new(None);

/// The plugin, once it was opened.
pub(crate) fn plugin() -> Option<Arc<Plugin>> {
    PLUGIN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The ends of the queues for the threads, and the plugin. The threads end with the plugin.
pub(crate) struct Ends {
    pub(crate) plugin: Weak<Plugin>,
    pub(crate) tasks: Receiver<HostTask>,
    pub(crate) orders: Orders<ReportingController>,
    pub(crate) texts: Receiver<Save>,
    pub(crate) audit_lines: AuditLines,
}

/// Returns the plugin, and makes it if there is none. A new plugin comes with the ends of its queues, for
/// [`crate::threads`].
pub(crate) fn open() -> (Arc<Plugin>, Option<Ends>) {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = &*current {
        return (Arc::clone(plugin), None);
    }
    let (plugin, ends) = Plugin::new();
    *current = Some(Arc::clone(&plugin));
    (plugin, Some(ends))
}

/// Closes the plugin if Slurm has read its jobs anew, as a backup does that takes over for the second time.
/// The plugin's knowledge of the jobs is of no use then. A later job_fini is about a run that another
/// slurmctld has seen.
pub(crate) fn close_when_over() {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = current.take_if(|plugin| job_records_are_new() || plugin.is_superseded()) {
        plugin.frontend.close();
    }
}

/// Closes a plugin that never took over Slurm's jobs. The next reconfigure makes another.
pub(crate) fn close_unstarted() {
    let mut current = PLUGIN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = current.take_if(|plugin| !plugin.started.load(Ordering::Acquire)) {
        plugin.frontend.close();
    }
}

impl Plugin {
    fn new() -> (Arc<Self>, Ends) {
        let (driver, orders) = driver::channel();
        let (sender, tasks) = std::sync::mpsc::channel();
        let (conf_saver, texts) = std::sync::mpsc::channel();
        let threads = Threads { began: Instant::now(), driver: driver.clone(), host: HostQueue(sender) };
        let (audit, audit_lines) = audit_thread::channel();
        let plugin = Arc::new_cyclic(|plugin| Self {
            frontend: Frontend::new(Box::new(threads)),
            driver,
            in_force: Mutex::default(),
            opened: local_time::now(),
            conf_read: AtomicI64::default(),
            hides_jobs: AtomicBool::new(true),
            hides_reservations: AtomicBool::new(true),
            licenses: Mutex::default(),
            journal: OnceLock::new(),
            counters: Counters::default(),
            audit: Audit::new(audit, claim_of(plugin)),
            conf_saver,
            admin: watch::Sender::default(),
            started: AtomicBool::new(false),
        });
        let ends = Ends { plugin: Arc::downgrade(&plugin), tasks, orders, texts, audit_lines };
        (plugin, ends)
    }

    /// Notes that the journal is open.
    pub(crate) fn set_journal(&self, journal: Ownership) {
        let _ = self.journal.set(journal);
    }

    /// Notes that the take-over of Slurm's jobs has begun. There is one try only.
    pub(crate) fn set_started(&self) {
        self.started.store(true, Ordering::Release);
    }

    /// The time at which the plugin was opened, in seconds since the Unix epoch.
    pub(crate) fn opened(&self) -> i64 {
        self.opened
    }

    /// The files of the models, for the status document. Waits while they are being read.
    pub(crate) fn conf_files(&self) -> BTreeMap<ModelName, ConfFile> {
        let in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.conf_read.load(Ordering::Relaxed);
        let file = |(model, standing): (&ModelName, &Standing)| {
            let error = standing.error.as_ref().map(|error| error.one_line().into());
            (model.clone(), ConfFile { read, error, in_force: standing.settings.is_some() })
        };
        in_force.iter().map(file).collect()
    }

    /// Whether PrivateData keeps users from seeing the jobs of others. True until the first
    /// [`Plugin::reconfigure`].
    pub(crate) fn hides_jobs(&self) -> bool {
        self.hides_jobs.load(Ordering::Relaxed)
    }

    /// Whether PrivateData keeps users from seeing reservations. True until the first [`Plugin::reconfigure`].
    pub(crate) fn hides_reservations(&self) -> bool {
        self.hides_reservations.load(Ordering::Relaxed)
    }

    /// The settings of the admin socket, now and after each reconfigure.
    pub(crate) fn admin_settings(&self) -> watch::Receiver<AdminSettings> {
        self.admin.subscribe()
    }

    /// Whether another slurmctld is known to have been in charge since. If that was within the last seconds
    /// only, the journal may not show it yet. This slurmctld then stands back a moment later.
    fn is_superseded(&self) -> bool {
        self.journal.get().is_some_and(Ownership::was_lost)
    }

    /// Whether another slurmctld, or another plugin of this one, is in charge.
    pub(crate) fn is_over(&self) -> bool {
        self.is_superseded() || self.frontend.is_closed()
    }

    /// Reads the models' files anew. Without a change, prepared partitions stay. Only in a callback that runs
    /// under the configuration lock.
    pub(crate) fn reconfigure(&self, nodes: &[NodeGres]) {
        self.hides_jobs.store(slurm_host::conf::hides_jobs(), Ordering::Relaxed);
        self.hides_reservations.store(slurm_host::conf::hides_reservations(), Ordering::Relaxed);
        self.frontend.slurm_was_configured(
            slurm_host::conf::scheduling_interval(),
            slurm_host::conf::batch_start_timeout(),
        );
        if let Some(folder) = slurm_host::conf::folder() {
            let settings = AdminSettings::read(&folder);
            self.admin.send_if_modified(|now| settings != std::mem::replace(now, settings.clone()));
        }
        if !self.read_models(nodes, model_files::read) {
            error!("slurm.conf has no folder to look for vipu.conf in, or no StateSaveLocation");
        }
        self.warn_of_changed_licenses();
    }

    /// Warns if Licenses of slurm.conf has changed and leaves out IPUs. At the start the start line does so.
    fn warn_of_changed_licenses(&self) {
        let now = slurm_host::conf::licenses().unwrap_or_default();
        let before = self.licenses.lock().unwrap_or_else(PoisonError::into_inner).replace(now.clone());
        if before.is_some_and(|before| before != now) {
            let models = self.frontend.models();
            let warnings = uncounted::warnings(&models, &models.0.keys().collect::<Vec<_>>(), None, &now);
            warnings.iter().for_each(|warning| warn!("{warning}"));
        }
    }

    /// Takes over the present offers of the nodes. Only files of models that no node had before are read.
    pub(crate) fn nodes_changed(&self, nodes: &[NodeGres]) {
        self.frontend.nodes_have_changed();
        self.read_models(nodes, model_files::read_new);
    }

    /// Reads models' files and takes them into use. False if slurm.conf does not say where they are.
    fn read_models(
        &self,
        nodes: &[NodeGres],
        read: impl FnOnce(&[NodeGres], &Path, &SavedConf, &mut InForce, &Connect<'_>) -> Reading,
    ) -> bool {
        let folders = slurm_host::conf::folder().zip(slurm_host::conf::state_save_location());
        let Some((folder, state)) = folders else { return false };
        let kept = SavedConf::in_dir(state);
        let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        let connect = |pod, client, level| self.controller(pod, client, level);
        let reading = read(nodes, &folder, &kept, &mut in_force, &connect);
        drop(in_force);
        self.conf_read.store(local_time::now(), Ordering::Relaxed);
        self.take_into_use(reading, kept);
        true
    }

    fn controller(&self, pod: PodId, client: Client, level: AuditLevel) -> ReportingController {
        let facts = self.counters.of_controller(&pod);
        let audit = (level == AuditLevel::All).then(|| self.audit.clone());
        ReportingController::new(pod, client, facts, audit)
    }

    fn take_into_use(&self, Reading { models, facts, setups, good }: Reading, kept: SavedConf) {
        // Fails only after the thread has ended, which is in the log.
        let _ = self.conf_saver.send(Save { kept, good });
        if *self.frontend.models() != models {
            self.driver.configure(setups);
            self.frontend.set_models(models);
        }
        // A reconfigure may follow the repair of a controller, so each controller is asked at once.
        let look: Vec<_> = facts
            .iter()
            .flat_map(ModelFacts::pods)
            .map(|pod| Action::Driver(DriverAction::Survey(pod)))
            .collect();
        self.frontend.tell_models(facts);
        self.frontend.carry_out(look);
    }
}
