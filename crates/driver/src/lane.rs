//! What the driver knows of one partition, from its first order until it is gone.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long after an unanswered create its partition may still turn up.
const LATE_CREATE: Duration = Duration::from_secs(5);

/// Whose partition it is, should the controller have one of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No create of it is known.
    Unknown,
    /// A create call of this cluster may have made it.
    Us,
    /// Not ours: no create call of this cluster can have made it.
    Others,
}

/// The place where orders for one partition wait for each other.
pub(crate) struct Lane {
    /// Held by the task whose turn it is; turns are taken in the order of the orders.
    pub turn: Mutex<()>,
    /// Held while files are written or deleted: a write that hangs outlives a cancelled create.
    pub files: Mutex<()>,
    /// Ends the create under way, or the one that waits for its turn.
    pub cancel: RefCell<CancellationToken>,
    /// Whose partition it is.
    pub owner: Cell<Owner>,
    /// Until then an unanswered create call may still take effect.
    pub settled: Cell<Instant>,
    /// It is certain that it has no files: none were written, or they were taken back.
    pub fileless: Cell<bool>,
    /// Where its files were, or are to be, written.
    pub directory: RefCell<Option<Arc<Path>>>,
}

impl Lane {
    pub fn new(owner: Owner) -> Self {
        Self {
            turn: Mutex::default(),
            files: Mutex::default(),
            cancel: RefCell::default(),
            owner: Cell::new(owner),
            settled: Cell::new(Instant::now()),
            fileless: Cell::new(false),
            directory: RefCell::default(),
        }
    }

    /// A create call was sent and its answer is not known.
    pub fn create_unanswered(&self) {
        self.settled.set(Instant::now() + LATE_CREATE);
    }
}
