//! The vipu-io thread: a tokio runtime that runs the driver. It never waits for slurmctld or a disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use driver::{
    Driver, Environment, FileJournal, IpuofFiles, Journal, JournalError, LiveRecord, NoJournal, Orders, Stage,
};
use ledger::{AdoptedAs, Event, Millis};
use slurm_host::{boundary, threads};
use tracing::{error, info, warn};
use vipu_client::Client;
use vipu_types::{JobRun, ModelName};

use crate::plugin::Plugin;
use crate::preparing;
use crate::start_line::{self, Surroundings};
use crate::sync::lock;

/// Starts the thread; without a journal it makes and removes no partition, and lets jobs go that end.
pub(crate) fn start(
    orders: Orders<Client>,
    journal: Option<PathBuf>,
    around: Surroundings,
    plugin: Weak<Plugin>,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("vipu-disk")
        .build()
        .map_err(|error| format!("cannot start tokio: {error}"))?;
    threads::spawn("vipu-io", move || {
        let ended = boundary::guard(&|| "vipu-io".into(), Ok(()), || {
            runtime.block_on(run(orders, journal, around, &plugin))
        });
        match ended {
            Ok(()) => give_up(&plugin, "the thread that makes partitions has ended; restart slurmctld"),
            Err(by_another) => stand_back(&plugin, &by_another),
        }
    })
}

/// As when a backup hands control back.
fn stand_back(plugin: &Weak<Plugin>, by_another: &JournalError) {
    let Some(plugin) = plugin.upgrade() else { return };
    warn!("{by_another}: this slurmctld makes and removes no partition until it takes over again");
    plugin.give_up(&format!("{by_another}; restart slurmctld if this is the one in charge"));
}

async fn run(
    orders: Orders<Client>,
    journal: Option<PathBuf>,
    around: Surroundings,
    plugin: &Weak<Plugin>,
) -> Result<(), JournalError> {
    let first = |model: &ModelName| plugin.upgrade()?.models(|models| models.first_controller(model));
    let files = |live: &[LiveRecord]| ipuof_files(journal.as_deref(), live);
    let without = || Outside { plugin: plugin.clone(), journal: NoJournal, files: files(&[]) };
    let Some(path) = &journal else { return Driver::new(without(), vec![]).run(orders).await };
    match FileJournal::open(path, first) {
        Ok((journal, live)) => {
            if let Some(plugin) = plugin.upgrade() {
                plugin.set_journal(journal.ownership());
                give_up_orphans(&plugin, &live);
            }
            tokio::spawn(start_line::write(plugin.clone(), around, Some((path.clone(), live.len()))));
            let files = files(&live);
            Driver::new(Outside { plugin: plugin.clone(), journal, files }, live).run(orders).await
        }
        Err(why) => {
            // Nobody knows what is ours: no partition is made, none removed, and jobs that end are let go.
            give_up(plugin, &format!("{why}; mend it and restart slurmctld"));
            tokio::spawn(start_line::write(plugin.clone(), around, None));
            Driver::new(without(), vec![]).run(orders).await
        }
    }
}

/// The IPUoF files of this cluster. Which directories have some is kept beside the journal.
fn ipuof_files(journal: Option<&Path>, live: &[LiveRecord]) -> IpuofFiles {
    let beside = |name| journal.map(|journal| journal.with_file_name(name));
    // Slurm's own: the name, and in newer releases more behind it.
    let text = beside("clustername").and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let is_of_name = |byte: &char| byte.is_ascii_alphanumeric() || "_-.".contains(*byte);
    let cluster: String = text.trim().chars().take_while(is_of_name).collect();
    let cluster = if cluster.is_empty() { "cluster" } else { &cluster };
    let used = live.iter().filter_map(|record| record.ipuof_dir.clone());
    IpuofFiles::new(cluster, beside("vipu_ipuof_dirs"), used)
}

/// Says so, unless the plugin has been closed.
fn give_up(plugin: &Weak<Plugin>, reason: &str) {
    if let Some(plugin) = plugin.upgrade() {
        error!("{reason}");
        plugin.give_up(reason);
    }
}

/// Has partitions removed that the journal says are ours and no run of a job owns any more.
fn give_up_orphans(plugin: &Plugin, live: &[LiveRecord]) {
    for record in live {
        let claim = plugin.jobs_before.complete(&record.claim);
        if let Some(at) = record.launched {
            lock(&plugin.launched_before).insert(claim.partition.clone(), at);
        }
        if plugin.ledger().holder(&claim.partition).is_some() {
            continue;
        }
        if let Some(until) = record.kept() {
            info!("partition {}: {} failed and left it for a while", claim.partition, claim.run);
            plugin.tell(Event::Adopt(claim, AdoptedAs::Kept(until)));
        } else if preparing::is_still_wanted(plugin, record) {
            info!("partition {}: {} still waits for it", claim.partition, claim.run);
            plugin.prepare(claim);
        } else {
            say_why_it_goes(plugin, record);
            plugin.tell(Event::Orphan(claim));
        }
    }
    plugin.jobs_before.forget();
}

/// Nobody has this partition any more.
fn say_why_it_goes(plugin: &Plugin, LiveRecord { claim, stage, .. }: &LiveRecord) {
    let (partition, run) = (&claim.partition, claim.run);
    let why = match stage {
        Stage::Removing => "slurmctld ended while it was being removed",
        Stage::GivenUp => "its create was given up and never answered, so it may still be made",
        Stage::Creating | Stage::Created if !run.has_begun() => "no job waits for it any more",
        Stage::Creating | Stage::Created if plugin.jobs_before.has_waiting(run.job) => {
            "Slurm's saved state has the job in line"
        }
        Stage::Creating | Stage::Created => {
            return warn!("partition {partition}: {run} ended while slurmctld was away; removing it");
        }
    };
    info!("partition {partition} of {run}: {why}; removing it");
}

struct Outside<J> {
    plugin: Weak<Plugin>,
    journal: J,
    files: IpuofFiles,
}

impl<J: Journal> Environment for Outside<J> {
    type Controller = Client;
    type Journal = J;
    type Files = IpuofFiles;

    fn journal(&self) -> &J {
        &self.journal
    }

    fn files(&self) -> &IpuofFiles {
        &self.files
    }

    fn now(&self) -> Millis {
        self.plugin.upgrade().map_or(Millis(0), |plugin| plugin.now())
    }

    fn tell(&self, run: JobRun, line: String) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.say_creating(run, line, true);
        }
    }

    fn show(&self, run: JobRun, line: String) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.say_creating(run, line, false);
        }
    }

    fn report(&self, event: Event) {
        if let Some(plugin) = self.plugin.upgrade() {
            plugin.tell(event);
        }
    }
}
