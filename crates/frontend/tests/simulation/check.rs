//! Rules that always hold, and the last lines before a breach.
//!
//! Each rule is checked where its event happens. This module notes the breaches, and has the rules that look
//! at everything at once.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use ledger::{Ledger, Violation};
use tokio::sync::Notify;

use crate::controller::Machine;

/// The number of lines that a failure shows.
const LINES: usize = 100;

/// The first breach, and the last lines before it.
#[derive(Default)]
pub struct Check {
    breach: RefCell<Option<String>>,
    breached: Notify,
    lines: RefCell<VecDeque<String>>,
    /// The digest of all lines so far. Two runs of a seed have the same digest.
    digest: Cell<u64>,
    /// Whether all lines are kept, not only the last ones.
    keeps_all: bool,
}

impl Check {
    pub fn new(keeps_all: bool) -> Self {
        Self { keeps_all, ..Self::default() }
    }

    /// Notes an event of the story.
    pub fn note(&self, after: Duration, line: impl Display) {
        let line = format!("{:>9.3} {line}", after.as_secs_f64());
        let mut hasher = DefaultHasher::new();
        (self.digest.get(), &line).hash(&mut hasher);
        self.digest.set(hasher.finish());
        if self.breach.borrow().is_none() {
            let mut lines = self.lines.borrow_mut();
            if lines.len() == LINES && !self.keeps_all {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    /// The digest of all lines, which is equal in two runs of one seed.
    pub fn digest(&self) -> u64 {
        self.digest.get()
    }

    /// Notes that a rule is broken.
    pub fn breach(&self, what: String) {
        self.breach.borrow_mut().get_or_insert(what);
        self.breached.notify_one();
    }

    /// Waits until a rule is broken.
    pub async fn breached(&self) -> String {
        loop {
            if let Some(what) = &*self.breach.borrow() {
                return what.clone();
            }
            self.breached.notified().await;
        }
    }

    /// The last lines of the story.
    pub fn last_lines(&self) -> String {
        let lines = self.lines.borrow();
        lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| format!("{line}\n")).collect()
    }

    /// All lines of the story that were kept.
    pub fn story(&self) -> String {
        self.lines.borrow().iter().map(|line| format!("{line}\n")).collect()
    }

    /// Checks that the ledger is in order.
    pub fn ledger(&self, ledger: &Ledger, after: &dyn Display) {
        let wrong = ledger.violations().into_iter().find(|violation| !may_be(violation));
        if let Some(violation) = wrong {
            self.breach(format!("after {after}: {violation}"));
        }
    }
}

/// Whether a violation is allowed. A Pod can have more claims than IPUs for a while: partitions of forgotten
/// jobs may not be listed yet.
fn may_be(violation: &Violation) -> bool {
    matches!(violation, Violation::Overcommitted { .. })
}

/// Checks that no IPU had two partitions at any instant.
pub fn double_owners(check: &Check, machine: &Machine) {
    if let Some(double) = machine.double_owners().first() {
        check.breach(format!("{}: {double:?}", machine.name));
    }
}
