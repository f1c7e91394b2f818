//! Resources that the jobs of a model share: the journal, and the directory of IPUoF files.
//!
//! If a resource fails, no job is at fault. Creates wait with its words, and a probe finds out when it works
//! again.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use vipu_types::Words;

/// The time between two probes of a resource in trouble.
pub(crate) const PERIOD: Duration = Duration::from_secs(3);

/// The time without an answer after which a resource counts as hanging.
const LONGEST_PROBE: Duration = Duration::from_secs(5);

/// The duration after which work may hang and its resource is probed.
pub(crate) const SLOW: Duration = Duration::from_secs(2);

/// The health of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// Not probed yet.
    Unknown,
    Well,
    /// In trouble. The words say what is wrong, where, and what to do.
    Trouble(Rc<str>),
}

/// A resource that many jobs need.
pub(crate) struct Resource {
    /// The name that begins the text of its trouble.
    name: String,
    health: RefCell<Health>,
    /// Wakes the waiting tasks in the order in which they came, so that a simulation can be repeated.
    changes: Notify,
    /// Asks for a probe.
    ask: Notify,
    /// The time at which it stopped being well, if it is not well now. `lost` has the earlier times.
    since: Cell<Option<Instant>>,
    lost: Cell<Duration>,
}

impl Resource {
    pub fn new(name: String, health: Health) -> Self {
        let since = (health != Health::Well).then(Instant::now);
        let (since, lost) = (Cell::new(since), Cell::default());
        let (health, changes, ask) = (RefCell::new(health), Notify::new(), Notify::new());
        Self { name, health, changes, ask, since, lost }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    pub fn is_well(&self) -> bool {
        *self.health.borrow() == Health::Well
    }

    /// Waits until the resource is well.
    pub async fn well(&self) {
        self.until(|health| *health == Health::Well).await;
    }

    /// Waits until the resource was probed.
    pub async fn known(&self) {
        self.until(|health| *health != Health::Unknown).await;
    }

    /// Asks for a probe at once.
    pub fn ask(&self) {
        self.ask.notify_one();
    }

    /// Notes that the resource failed. A probe finds out when that is over.
    pub fn fail(&self, words: &str) {
        self.set(Health::Trouble(words.into()));
    }

    fn set(&self, health: Health) {
        match (&health, self.since.get()) {
            (Health::Well, Some(since)) => {
                self.lost.update(|lost| lost + since.elapsed());
                self.since.set(None);
            }
            (Health::Trouble(_), None) => self.since.set(Some(Instant::now())),
            _ => {}
        }
        if self.health.replace(health.clone()) != health {
            self.changes.notify_waiters();
        }
    }

    /// The total time for which the resource was not well.
    pub fn time_lost(&self) -> Duration {
        self.lost.get() + self.since.get().map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Waits until the health differs from `known`, and returns it.
    pub async fn changed(&self, known: &Health) -> Health {
        self.until(|health| health != known).await
    }

    async fn until(&self, is: impl Fn(&Health) -> bool) -> Health {
        loop {
            let changed = self.changes.notified();
            let health = self.health();
            if is(&health) {
                return health;
            }
            changed.await;
        }
    }

    /// Probes the resource now, on request, and every few seconds while it is in trouble. At most one probe
    /// is under way. A probe that hangs puts the resource into trouble.
    pub async fn watch_over(&self, probe: impl AsyncFn() -> Result<(), Words>) {
        loop {
            let found = {
                let mut probing = std::pin::pin!(probe());
                match timeout(LONGEST_PROBE, &mut probing).await {
                    Ok(found) => found,
                    Err(_) => {
                        self.fail(&format!("{} does not answer (is its file server up?)", self.name));
                        probing.await
                    }
                }
            };
            match found {
                Ok(()) => self.set(Health::Well),
                Err(words) => self.fail(&words),
            }
            tokio::select! {
                biased;
                () = self.ask.notified() => {}
                _ = self.changed(&Health::Well) => sleep(PERIOD).await,
            }
        }
    }
}

/// A counter of news for tasks that wait for some.
#[derive(Default)]
pub(crate) struct News {
    count: Cell<u64>,
    added: Notify,
}

impl News {
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn add(&self) {
        self.count.update(|count| count + 1);
        self.added.notify_waiters();
    }

    /// Waits until the count differs from `count`.
    pub async fn after(&self, count: u64) {
        let added = self.added.notified();
        if self.count() == count {
            added.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::LocalSet;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Plays `scene` with a resource whose probe gives the answer that the scene sets.
    async fn play(scene: impl AsyncFnOnce(&Resource, &RefCell<Result<(), Words>>)) {
        let resource = Resource::new("/ipuof".into(), Health::Unknown);
        let answer = RefCell::new(Ok(()));
        let probe = async || answer.borrow().clone();
        let scene = scene(&resource, &answer);
        LocalSet::new()
            .run_until(async {
                tokio::select! {
                    biased;
                    () = scene => {}
                    () = resource.watch_over(probe) => {}
                }
            })
            .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_trouble_ends_by_itself_and_its_time_is_counted() {
        play(async |resource, answer| {
            resource.known().await;
            assert_eq!(resource.health(), Health::Well);
            *answer.borrow_mut() = Err("full".into());
            sleep(10 * SECOND).await;
            assert!(resource.is_well(), "nobody has met it");
            resource.ask();
            assert_eq!(resource.changed(&Health::Well).await, Health::Trouble("full".into()));
            let began = Instant::now();
            sleep(20 * SECOND).await;
            *answer.borrow_mut() = Ok(());
            resource.well().await;
            assert!(began.elapsed() <= 25 * SECOND, "{:?}", began.elapsed());
            assert_eq!(resource.time_lost(), began.elapsed());
        })
        .await;
    }

    /// A probe that succeeds while other work fails must not make that work retry without a pause.
    #[tokio::test(start_paused = true)]
    async fn a_failed_resource_is_not_well_at_once() {
        play(async |resource, _| {
            resource.well().await;
            let began = Instant::now();
            resource.fail("full");
            resource.well().await;
            assert!(began.elapsed() >= SECOND && began.elapsed() <= 5 * SECOND, "{:?}", began.elapsed());
        })
        .await;
    }
}
