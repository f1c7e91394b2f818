//! The ledger behind its lock, and the ways out to who carries out what it decides.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use driver::{Handle, Host};
use failpoints::NoIo;
use ledger::{Action, Event, Ledger, Millis};
use slurm_host::boundary;
use vipu_client::Client;

use crate::about::About;
use crate::plugin::HostTask;
use crate::sync::{Mutex, MutexGuard, lock};

/// Where events come in, from slurmctld's callbacks and from both threads, and actions go out.
pub(crate) struct SharedLedger {
    ledger: Mutex<Ledger>,
    pub(crate) driver: Handle<Client>,
    pub(crate) host: HostQueue,
    /// The ledger has failed once: not all that it waits for comes.
    pub(crate) distrusted: AtomicBool,
}

/// Who has the ledger locked, for which slurmctld's callbacks wait.
pub(crate) struct LockedLedger<'shared_ledger> {
    ledger: MutexGuard<'shared_ledger, Ledger>,
    _no_io: NoIo,
}

impl Deref for LockedLedger<'_> {
    type Target = Ledger;
    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl DerefMut for LockedLedger<'_> {
    fn deref_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

/// The way to the vipu-host thread; never waits.
pub(crate) struct HostQueue(Mutex<Sender<HostTask>>);

impl HostQueue {
    pub(crate) fn push(&self, task: HostTask) {
        // Fails only when the thread has ended, which it reported.
        let _ = lock(&self.0).send(task);
    }
}

impl Host for HostQueue {
    fn send(&self, action: Action) {
        self.push(HostTask::Act(action));
    }
}

impl SharedLedger {
    pub(crate) fn new(driver: Handle<Client>, host: Sender<HostTask>) -> Self {
        Self {
            ledger: Mutex::new(Ledger::new()),
            driver,
            host: HostQueue(Mutex::new(host)),
            distrusted: AtomicBool::new(false),
        }
    }

    /// The ledger, for a question.
    pub(crate) fn ledger(&self) -> LockedLedger<'_> {
        LockedLedger { ledger: lock(&self.ledger), _no_io: NoIo::new() }
    }

    /// Tells the ledger what happened and passes on what it wants done. False if that showed a fault in the ledger.
    ///
    /// The queues are filled while the ledger is locked, so that actions leave in the order they were decided.
    pub(crate) fn tell(&self, now: impl FnOnce() -> Millis, event: Event) -> bool {
        let about = About::of(&event);
        let mut ledger = self.ledger();
        let decided = boundary::guard(&|| about.to_string(), None, || Some(ledger.apply(now(), event)));
        if let Some(actions) = decided {
            self.driver.route(actions, &self.host);
            return true;
        }
        // What it would have decided is lost, and it may be half-changed. To be known before anybody acts on that.
        self.distrusted.store(true, Ordering::Release);
        for action in about.let_go(&ledger) {
            self.host.send(action);
        }
        false
    }
}

#[cfg(test)]
#[path = "shared_ledger_tests.rs"]
mod tests;
