//! Work on the resources that all jobs share: the journal and the directories of IPUoF files.
//!
//! After a failure the resource is probed. When it is in trouble, the ledger is told for each model that
//! needs it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use ledger::{Claim, Event};
use tokio::task::spawn_local;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tracing::{error, info};
use vipu_types::{ModelName, Words, words};

use crate::resource::{Health, News, PERIOD, Resource, SLOW};
use crate::restart_on_panic::restarted_on_panic;
use crate::{Entry, Environment, Files, Journal, JournalError};

/// The resources of a driver, with their probes.
pub(crate) struct ResourceProbes<W> {
    environment: Rc<W>,
    journal: Rc<Resource>,
    journal_probe: RefCell<Option<AbortOnDropHandle<()>>>,
    directories: RefCell<HashMap<Arc<Path>, Directory>>,
    /// The directory of each configured model, if its jobs get files.
    needed: RefCell<BTreeMap<ModelName, Option<Arc<Path>>>>,
    /// The trouble of each model, as last reported to the ledger.
    told: RefCell<BTreeMap<ModelName, Option<Rc<str>>>>,
    /// Counts changes of configuration and of health.
    news: News,
}

/// A directory of IPUoF files, with its probe.
struct Directory {
    resource: Rc<Resource>,
    _probe: AbortOnDropHandle<()>,
}

/// The reason why work on files failed.
pub(crate) struct FilesTrouble {
    pub words: Words,
    /// The directory is in trouble. No files can be written or deleted.
    pub is_shared: bool,
    pub directory: Rc<Resource>,
}

impl<W: Environment> ResourceProbes<W> {
    pub fn new(environment: Rc<W>) -> Self {
        Self {
            environment,
            journal: Rc::new(Resource::new("the journal".into(), Health::Well)),
            journal_probe: RefCell::default(),
            directories: RefCell::default(),
            needed: RefCell::default(),
            told: RefCell::default(),
            news: News::default(),
        }
    }

    /// Probes the directories of the configured models, and stops the probes of those that are not needed any more.
    pub fn configure(self: &Rc<Self>, needed: BTreeMap<ModelName, Option<Arc<Path>>>) {
        self.journal_probe.borrow_mut().get_or_insert_with(|| {
            let probe = async |probes: &Self| {
                let confirmed = unless_final(probes.environment.journal().confirm()).await;
                confirmed.map_err(|error| words_of(&error))
            };
            self.watch(&self.journal, probe)
        });
        // Three references do not count: the map's, and the probe's two, one to probe and one to restart
        // after a fault.
        let is_in_use = |resource: &Rc<Resource>| Rc::strong_count(resource) > 3;
        let is_needed = |path: &Arc<Path>| needed.values().flatten().any(|directory| directory == path);
        let mut directories = self.directories.borrow_mut();
        directories.retain(|path, directory| is_needed(path) || is_in_use(&directory.resource));
        drop(directories);
        needed.values().flatten().for_each(|path| drop(self.directory(path)));
        self.needed.replace(needed);
        self.tell_trouble();
    }

    /// The resource of the directory at this path.
    pub fn directory(self: &Rc<Self>, path: &Arc<Path>) -> Rc<Resource> {
        if let Some(known) = self.directories.borrow().get(path) {
            return Rc::clone(&known.resource);
        }
        let name = format!("IpuofDir: {}", path.display());
        let resource = Rc::new(Resource::new(name, Health::Unknown));
        let directory = Arc::clone(path);
        let _probe = self.watch(&resource, async move |probes: &Self| probes.usable(&directory).await);
        let directory = Directory { resource: Rc::clone(&resource), _probe };
        self.directories.borrow_mut().insert(Arc::clone(path), directory);
        resource
    }

    async fn usable(&self, directory: &Path) -> Result<(), Words> {
        self.environment.files().probe(directory).await.map_err(|error| words!("IpuofDir: {error}"))
    }

    fn watch(
        self: &Rc<Self>,
        resource: &Rc<Resource>,
        probe: impl AsyncFn(&Self) -> Result<(), Words> + 'static,
    ) -> AbortOnDropHandle<()> {
        let (probes, resource, probe) = (Rc::clone(self), Rc::clone(resource), Rc::new(probe));
        let work = move || {
            let (probes, resource, probe) = (Rc::clone(&probes), Rc::clone(&resource), Rc::clone(&probe));
            async move {
                tokio::select! {
                    biased;
                    () = resource.watch_over(async || probe(&probes).await) => {}
                    () = probes.tell(&resource) => {}
                }
            }
        };
        AbortOnDropHandle::new(spawn_local(restarted_on_panic("probes", work)))
    }

    /// The resources that partitions with files in this directory need, or partitions without files.
    pub fn needs(self: &Rc<Self>, directory: Option<&Arc<Path>>) -> Vec<Rc<Resource>> {
        let directory = directory.map(|path| self.directory(path));
        [Rc::clone(&self.journal)].into_iter().chain(directory).collect()
    }

    /// The health of the resources that such partitions need: that of the first one that is not well.
    pub fn health(self: &Rc<Self>, directory: Option<&Arc<Path>>) -> Health {
        let mut healths = self.needs(directory).into_iter().map(|need| need.health());
        healths.find(|health| *health != Health::Well).unwrap_or(Health::Well)
    }

    /// The counter of changes of configuration and of health.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// Logs the health of a resource and tells the ledger.
    async fn tell(self: &Rc<Self>, resource: &Resource) {
        let mut health = Health::Unknown;
        loop {
            health = resource.changed(&health).await;
            match &health {
                Health::Unknown => {}
                Health::Trouble(words) => {
                    error!("{words}; what needs it waits, and goes on by itself when that is mended")
                }
                Health::Well => info!("{} can be written", resource.name()),
            }
            self.tell_trouble();
        }
    }

    /// Tells the ledger for each model whether its jobs can start, if that is news.
    fn tell_trouble(self: &Rc<Self>) {
        let needed = self.needed.borrow().clone();
        self.told.borrow_mut().retain(|model, _| needed.contains_key(model));
        for (model, directory) in needed {
            let trouble = match self.health(directory.as_ref()) {
                Health::Unknown => continue,
                Health::Well => None,
                Health::Trouble(words) => Some(words),
            };
            let before = self.told.borrow_mut().insert(model.clone(), trouble.clone());
            if before.as_ref() != Some(&trouble) {
                let reason = trouble.map(Words::of);
                self.environment.report(Event::Trouble { model, reason });
            }
        }
        self.news.add();
    }

    /// Does `work` on the files in a directory. If that fails or takes long, the directory is probed.
    pub async fn with_files(
        self: &Rc<Self>,
        path: &Arc<Path>,
        work: impl Future<Output = Result<(), Words>>,
    ) -> Result<(), FilesTrouble> {
        let directory = self.directory(path);
        let Err(words) = slowly(&directory, work).await else { return Ok(()) };
        let usable = slowly(&directory, self.usable(path)).await;
        let is_shared = usable.inspect_err(|words| directory.fail(words)).is_err();
        Err(FilesTrouble { words, is_shared, directory })
    }

    /// Records an entry whose loss is no reason to stop: in the worst case the next slurmctld looks for work
    /// that is done already. While the owner of the journal is unknown, the call waits.
    pub async fn note(&self, entry: Entry, claim: &Claim) {
        unless_blind(claim, async || self.record(entry.clone()).await).await;
    }

    /// Waits until it is certain that no other slurmctld has taken over the journal, or until it is certain that
    /// the journal is in another trouble.
    pub async fn in_charge(&self, claim: &Claim) {
        unless_blind(claim, async || self.confirm().await).await;
    }

    /// Returns once it is certain that this slurmctld is still in charge. Never returns if another has taken
    /// over.
    pub async fn confirm(&self) -> Result<(), JournalError> {
        self.in_journal(self.environment.journal().confirm()).await
    }

    /// Records an entry. Never returns once another slurmctld has taken over, because nothing is ours to do
    /// any more.
    pub async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.in_journal(self.environment.journal().record(entry)).await
    }

    async fn in_journal(
        &self,
        work: impl Future<Output = Result<(), JournalError>>,
    ) -> Result<(), JournalError> {
        let done = slowly(&self.journal, unless_final(work)).await;
        done.inspect_err(|error| self.journal.fail(&words_of(error)))
    }
}

/// Never returns once another slurmctld has taken over the journal.
async fn unless_final(work: impl Future<Output = Result<(), JournalError>>) -> Result<(), JournalError> {
    match work.await {
        Err(error) if error.is_final() => std::future::pending().await,
        result => result,
    }
}

/// Repeats work on the journal while its owner is unknown. Ends with the work's success or any other failure.
async fn unless_blind(claim: &Claim, work: impl AsyncFn() -> Result<(), JournalError>) {
    while let Err(error) = work().await {
        tracing::debug!("partition {} of {}: {error}", claim.partition, claim.run);
        if !error.is_blind() {
            return;
        }
        sleep(PERIOD).await;
    }
}

/// Does `work`. If that takes long, the resource that it needs is probed.
async fn slowly<T>(resource: &Resource, work: impl Future<Output = T>) -> T {
    let ask = async {
        sleep(SLOW).await;
        resource.ask();
        std::future::pending().await
    };
    tokio::select! {
        biased;
        done = work => done,
        never = ask => never,
    }
}

fn words_of(error: &JournalError) -> Words {
    words!("{error} (StateSaveLocation needs room, and SlurmUser has to be able to write there)")
}
