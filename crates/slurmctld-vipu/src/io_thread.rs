//! The vipu-io thread: a tokio runtime that runs the driver. It never waits for slurmctld or a disk.

use std::path::PathBuf;

use driver::{
    Driver, FileJournal, IpuofFiles, Journal, JournalError, LiveRecord, MemoryJournal, Orders, World,
};
use ledger::{Event, Millis};
use slurm_host::{boundary, threads};
use tracing::warn;
use vipu_client::Client;
use vipu_types::{ControllerName, ModelName};

use crate::site::site;

/// Starts the thread.
pub(crate) fn start(orders: Orders<Client>, journal: PathBuf) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("vipu-disk")
        .build()
        .map_err(|error| format!("cannot start tokio: {error}"))?;
    threads::spawn("vipu-io", move || {
        let ended = || "the thread that makes partitions has ended; restart slurmctld".to_owned();
        give_up(&boundary::guard(&|| "vipu-io".into(), ended(), || {
            runtime.block_on(run(orders, journal)).map_or_else(superseded, |()| ended())
        }));
    })
}

fn superseded(why: JournalError) -> String {
    format!(
        "{why}: this slurmctld makes and removes no partition any more; restart it if it is the one in charge"
    )
}

async fn run(orders: Orders<Client>, journal: PathBuf) -> Result<(), JournalError> {
    match FileJournal::open(journal, first_controller) {
        Ok((journal, live)) => {
            give_up_orphans(&live);
            Driver::new(Outside { journal, files: IpuofFiles }, live).run(orders).await
        }
        Err(why) => {
            // Partitions of jobs that run can still be removed; none is made that nobody would remember.
            give_up(&format!("{why}; mend it and restart slurmctld"));
            let journal = MemoryJournal::default();
            Driver::new(Outside { journal, files: IpuofFiles }, vec![]).run(orders).await
        }
    }
}

fn first_controller(model: &ModelName) -> Option<ControllerName> {
    site()?.models(|models| models.first_controller(model))
}

fn give_up(reason: &str) {
    if let Some(site) = site() {
        site.give_up(reason);
    }
}

/// Has partitions removed that the journal says are ours and no run of a job owns any more.
fn give_up_orphans(live: &[LiveRecord]) {
    let Some(site) = site() else { return };
    for record in live {
        let claim = &record.claim;
        if site.ledger().holder(&claim.partition).is_none() {
            warn!("partition {}: {} ended while slurmctld was away; removing it", claim.partition, claim.run);
            site.tell(Event::Orphan(claim.clone()));
        }
    }
}

struct Outside<J> {
    journal: J,
    files: IpuofFiles,
}

impl<J: Journal> World for Outside<J> {
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
        site().map_or(Millis(0), crate::site::Site::now)
    }

    fn report(&self, event: Event) {
        if let Some(site) = site() {
            site.tell(event);
        }
    }
}
