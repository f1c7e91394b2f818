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
use vipu_types::ModelName;

use crate::pod_in_use::PodInUse;
use crate::resource::{Health, News, PERIOD, Resource, SLOW};
use crate::restart_on_panic::restarted_on_panic;
use crate::shared_state::SharedState;
use crate::{Entry, Environment, Files, FilesError, Journal, JournalError};

/// The resources of a driver.
pub(crate) struct ResourceProbes {
    journal: Rc<Resource>,
    directories: RefCell<HashMap<Arc<Path>, Rc<Resource>>>,
    probes: RefCell<HashMap<Arc<Path>, AbortOnDropHandle<()>>>,
    journal_probes: RefCell<Option<AbortOnDropHandle<()>>>,
    /// The trouble of each model, as last reported to the ledger.
    told: RefCell<BTreeMap<ModelName, Option<Rc<str>>>>,
    /// Counts changes of configuration and of health.
    news: News,
}

impl Default for ResourceProbes {
    fn default() -> Self {
        Self {
            journal: Rc::new(Resource::new("the journal".into(), Health::Well)),
            directories: RefCell::default(),
            probes: RefCell::default(),
            journal_probes: RefCell::default(),
            told: RefCell::default(),
            news: News::default(),
        }
    }
}

/// The reason why work on files failed.
pub(crate) struct FilesTrouble {
    pub words: String,
    /// The directory is in trouble. No files can be written or deleted.
    pub is_shared: bool,
    pub directory: Rc<Resource>,
}

impl<W: Environment> SharedState<W> {
    /// Probes the resources of the configured Pods, and stops the probes of resources that are not needed any
    /// more.
    pub(crate) fn probe_what_is_needed(self: &Rc<Self>) {
        let probes = &self.resources;
        probes.journal_probes.borrow_mut().get_or_insert_with(|| {
            let probe = async |shared: &SharedState<W>| {
                let confirmed = shared.unless_final(shared.environment.journal().confirm()).await;
                confirmed.map_err(|error| words_of(&error))
            };
            self.watch(&probes.journal, probe)
        });
        let needed: Vec<_> =
            self.listed().values().filter_map(|pod| pod.settings.ipuof_dir.clone()).collect();
        // Three references do not count: the map's, and the probe's two, one to probe and one to restart
        // after a fault.
        let is_in_use = |resource: &Rc<Resource>| Rc::strong_count(resource) > 3;
        let is_needed =
            |path: &Arc<Path>, resource: &Rc<Resource>| needed.contains(path) || is_in_use(resource);
        probes.directories.borrow_mut().retain(|path, resource| is_needed(path, resource));
        probes.probes.borrow_mut().retain(|path, _| probes.directories.borrow().contains_key(path));
        needed.iter().for_each(|path| drop(self.directory(path)));
        self.tell_trouble();
    }

    /// The resource of the directory at this path.
    pub(crate) fn directory(self: &Rc<Self>, path: &Arc<Path>) -> Rc<Resource> {
        if let Some(known) = self.resources.directories.borrow().get(path) {
            return Rc::clone(known);
        }
        let name = format!("IpuofDir: {}", path.display());
        let resource = Rc::new(Resource::new(name, Health::Unknown));
        self.resources.directories.borrow_mut().insert(Arc::clone(path), Rc::clone(&resource));
        let directory = Arc::clone(path);
        let probe = async move |shared: &SharedState<W>| shared.usable(&directory).await;
        self.resources.probes.borrow_mut().insert(Arc::clone(path), self.watch(&resource, probe));
        resource
    }

    async fn usable(&self, directory: &Path) -> Result<(), String> {
        self.environment.files().probe(directory).await.map_err(|error| format!("IpuofDir: {error}"))
    }

    fn watch(
        self: &Rc<Self>,
        resource: &Rc<Resource>,
        probe: impl AsyncFn(&SharedState<W>) -> Result<(), String> + 'static,
    ) -> AbortOnDropHandle<()> {
        let (shared, resource, probe) = (Rc::clone(self), Rc::clone(resource), Rc::new(probe));
        let work = move || {
            let (shared, resource, probe) = (Rc::clone(&shared), Rc::clone(&resource), Rc::clone(&probe));
            async move {
                tokio::select! {
                    biased;
                    () = resource.watch_over(async || probe(&shared).await) => {}
                    () = tell(&shared, &resource) => {}
                }
            }
        };
        AbortOnDropHandle::new(spawn_local(restarted_on_panic("probes", work)))
    }

    /// The resources that the partitions of a Pod need.
    pub(crate) fn needs(self: &Rc<Self>, pod: &PodInUse<W::Controller>) -> Vec<Rc<Resource>> {
        let directory = pod.settings.ipuof_dir.as_ref().map(|path| self.directory(path));
        [Rc::clone(&self.resources.journal)].into_iter().chain(directory).collect()
    }

    /// The reason why partitions of a Pod can have no files or no record, if there is one. An error while
    /// that is unknown.
    fn trouble_on(self: &Rc<Self>, pod: &PodInUse<W::Controller>) -> Result<Option<Rc<str>>, ()> {
        let mut healths = self.needs(pod).into_iter().map(|need| need.health());
        match healths.find(|health| *health != Health::Well) {
            Some(Health::Trouble(words)) => Ok(Some(words)),
            Some(Health::Unknown) => Err(()),
            Some(Health::Well) | None => Ok(None),
        }
    }

    /// The reason why no partition can be made on the claim's Pod under the present configuration.
    pub(crate) fn trouble_of(self: &Rc<Self>, claim: &Claim) -> Option<Rc<str>> {
        self.pod(claim).ok().and_then(|pod| self.trouble_on(&pod).ok()?)
    }

    /// The counter of changes of configuration and of health.
    pub(crate) fn news(&self) -> &News {
        &self.resources.news
    }

    /// Tells the ledger for each model whether its jobs can start, if that is news.
    fn tell_trouble(self: &Rc<Self>) {
        let listed = self.listed();
        self.resources.told.borrow_mut().retain(|model, _| listed.keys().any(|id| id.model == *model));
        for (id, pod) in listed {
            let Ok(trouble) = self.trouble_on(&pod) else { continue };
            let before = self.resources.told.borrow_mut().insert(id.model.clone(), trouble.clone());
            if before.as_ref() != Some(&trouble) {
                let reason = trouble.map(|words| words.to_string());
                self.environment.report(Event::Trouble { model: id.model, reason });
            }
        }
        self.resources.news.add();
    }

    /// Does `work` on the files in a directory. If that fails or takes long, the directory is probed.
    pub(crate) async fn with_files(
        self: &Rc<Self>,
        path: &Arc<Path>,
        work: impl Future<Output = Result<(), FilesError>>,
    ) -> Result<(), FilesTrouble> {
        let directory = self.directory(path);
        let Err(FilesError(words)) = slowly(&directory, work).await else { return Ok(()) };
        let usable = slowly(&directory, self.usable(path)).await;
        let is_shared = usable.inspect_err(|words| directory.fail(words)).is_err();
        Err(FilesTrouble { words, is_shared, directory })
    }

    /// Records an entry whose loss is no reason to stop: in the worst case the next slurmctld looks for work
    /// that is done already. While the owner of the journal is unknown, the call waits.
    pub(crate) async fn note(&self, entry: Entry, claim: &Claim) {
        unless_blind(claim, async || self.record(entry.clone()).await).await;
    }

    /// Waits until it is certain that no other slurmctld has taken over the journal, or until it is certain that
    /// the journal is in another trouble.
    pub(crate) async fn in_charge(&self, claim: &Claim) {
        unless_blind(claim, async || self.confirm().await).await;
    }

    /// Returns once it is certain that this slurmctld is still in charge. Never returns if another has taken
    /// over.
    pub(crate) async fn confirm(&self) -> Result<(), JournalError> {
        self.in_journal(self.environment.journal().confirm()).await
    }

    /// Records an entry. Never returns once another slurmctld has taken over, because nothing is ours to do
    /// any more.
    pub(crate) async fn record(&self, entry: Entry) -> Result<(), JournalError> {
        self.in_journal(self.environment.journal().record(entry)).await
    }

    async fn in_journal(
        &self,
        work: impl Future<Output = Result<(), JournalError>>,
    ) -> Result<(), JournalError> {
        let journal = &self.resources.journal;
        let done = slowly(journal, self.unless_final(work)).await;
        done.inspect_err(|error| journal.fail(&words_of(error)))
    }

    async fn unless_final(
        &self,
        work: impl Future<Output = Result<(), JournalError>>,
    ) -> Result<(), JournalError> {
        match work.await {
            Err(error) if error.is_final() => std::future::pending().await,
            result => result,
        }
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

/// Logs the health of a resource and tells the ledger.
async fn tell<W: Environment>(shared: &Rc<SharedState<W>>, resource: &Resource) {
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
        shared.tell_trouble();
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

fn words_of(error: &JournalError) -> String {
    format!("{error} (StateSaveLocation needs room, and SlurmUser has to be able to write there)")
}
