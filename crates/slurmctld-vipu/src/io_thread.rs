//! The vipu-io thread: a tokio runtime that runs the driver. It never waits for slurmctld or a disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use driver::{
    Driver, Environment, FileJournal, IpuofFiles, Journal, JournalError, LiveRecord, NoJournal, Orders,
    Ownership,
};
use ledger::{Event, Millis, Seconds};
use slurm_host::{boundary, local_time, threads};
use tracing::{error, warn};
use vipu_types::{JobRun, ModelName, Reason, Words, words};

use crate::admin::{self, DrainsFile};
use crate::counters::CountedJournal;
use crate::plugin::Plugin;
use crate::reporting_controller::ReportingController;
use crate::start_line::{self, Surroundings};

/// Starts the thread. Without a journal it makes and removes no partition, and releases jobs that end.
pub(crate) fn start(
    orders: Orders<ReportingController>,
    journal: Option<PathBuf>,
    saved: Option<Seconds>,
    around: Surroundings,
    plugin: Weak<Plugin>,
) -> Result<(), Words> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("vipu-disk")
        .build()
        .map_err(|error| words!("cannot start tokio: {error}"))?;
    threads::spawn("vipu-io", move || {
        let ended = boundary::guard(&|| "vipu-io".into(), Ok(()), || {
            runtime.block_on(run(orders, journal, saved, around, &plugin))
        });
        match ended {
            Ok(()) => give_up(&plugin, "the thread that makes partitions has ended; restart slurmctld"),
            Err(by_another) => stand_back(&plugin, &by_another),
        }
    })
}

/// Makes IPU jobs wait, because another slurmctld has taken the journal, for example after a backup handed
/// control back.
fn stand_back(plugin: &Weak<Plugin>, by_another: &JournalError) {
    let Some(plugin) = plugin.upgrade() else { return };
    warn!("{by_another}: this slurmctld makes and removes no partition until it takes over again");
    plugin.frontend.give_up(&format!("{by_another}; restart slurmctld if this is the one in charge"));
}

async fn run(
    orders: Orders<ReportingController>,
    journal: Option<PathBuf>,
    saved: Option<Seconds>,
    around: Surroundings,
    plugin: &Weak<Plugin>,
) -> Result<(), JournalError> {
    let first = |model: &ModelName| plugin.upgrade()?.frontend.models().first_controller(model);
    let files = |live: &[LiveRecord]| ipuof_files(journal.as_deref(), live);
    let without = || InSlurmctld { plugin: plugin.clone(), journal: NoJournal, files: files(&[]) };
    let Some(path) = &journal else { return Driver::new(without(), vec![]).run(orders).await };
    match FileJournal::open(path, first) {
        Ok((journal, live)) => {
            let mut counters = Arc::default();
            if let Some(plugin) = plugin.upgrade() {
                plugin.set_journal(journal.ownership());
                let records = live.iter().map(LiveRecord::recorded);
                frontend::take_over(&plugin.frontend, records, journal.ended_runs(), saved);
                counters = plugin.counters.of_journal();
                serve_administrators(&plugin, path, journal.ownership());
            }
            let journal = CountedJournal::new(journal, counters);
            let left = live.iter().filter(|record| record.may_exist()).count();
            tokio::spawn(start_line::write(plugin.clone(), around, Some((path.clone(), left))));
            let files = files(&live);
            Driver::new(InSlurmctld { plugin: plugin.clone(), journal, files }, live).run(orders).await
        }
        Err(why) => {
            // Without the journal it is unknown which partitions are this cluster's. None is made or removed,
            // and jobs that end are released.
            give_up(plugin, &format!("{why}; mend it and restart slurmctld"));
            tokio::spawn(start_line::write(plugin.clone(), around, None));
            Driver::new(without(), vec![]).run(orders).await
        }
    }
}

/// Drains what was drained, before a controller is asked, and serves the admin socket.
fn serve_administrators(plugin: &Arc<Plugin>, journal: &Path, ownership: Ownership) {
    let drains = DrainsFile::in_dir(journal.parent().unwrap_or(Path::new("/")));
    drains.restore(&plugin.frontend);
    admin::start(&Arc::downgrade(plugin), drains, plugin.admin_settings(), ownership);
}

/// The IPUoF files of this cluster. A file beside the journal lists the directories that have some.
fn ipuof_files(journal: Option<&Path>, live: &[LiveRecord]) -> IpuofFiles {
    let beside = |name| journal.map(|journal| journal.with_file_name(name));
    // Slurm's own file begins with the name. Newer releases write more behind it.
    let text = beside("clustername").and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let is_of_name = |byte: &char| byte.is_ascii_alphanumeric() || "_-.".contains(*byte);
    let cluster: String = text.trim().chars().take_while(is_of_name).collect();
    let cluster = if cluster.is_empty() { "cluster" } else { &cluster };
    let used = live.iter().filter_map(|record| record.ipuof_dir.clone());
    IpuofFiles::new(cluster, beside("vipu_ipuof_dirs"), used)
}

/// Logs the reason and makes IPU jobs wait, unless the plugin has been closed.
fn give_up(plugin: &Weak<Plugin>, reason: &str) {
    if let Some(plugin) = plugin.upgrade() {
        error!("{reason}");
        plugin.frontend.give_up(reason);
    }
}

struct InSlurmctld<J> {
    plugin: Weak<Plugin>,
    journal: J,
    files: IpuofFiles,
}

impl<J: Journal> Environment for InSlurmctld<J> {
    type Controller = ReportingController;
    type Journal = J;
    type Files = IpuofFiles;

    fn journal(&self) -> &J {
        &self.journal
    }

    fn files(&self) -> &IpuofFiles {
        &self.files
    }

    fn now(&self) -> Millis {
        self.plugin.upgrade().map_or(Millis(0), |plugin| plugin.frontend.now())
    }

    fn unix_time(&self) -> Seconds {
        Seconds(local_time::now())
    }

    fn tell(&self, run: JobRun, progress: Reason) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.frontend.say_creating(run, progress, true);
        }
    }

    fn show(&self, run: JobRun, progress: Reason) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.frontend.say_creating(run, progress, false);
        }
    }

    fn report(&self, event: Event) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.frontend.tell(event);
        }
    }
}
