//! What the driver knows of one partition, from its first order until it is gone.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;

use ledger::Claim;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, PodId};

/// Whose partition it is, should the controller have one of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartitionOwner {
    /// No create of it is known.
    Unknown,
    /// Ours: a create call of this cluster may have made it.
    Ours,
    /// It was made for this run and is gone; a create call that was never answered may make it once more.
    Late(JobRun),
    /// Not ours: no create call of this cluster can have made it.
    Others,
}

/// One partition, as the driver tracks it; orders for it wait for each other here.
pub(crate) struct Tracked {
    /// Held by the task whose turn it is; turns are taken in the order of the orders.
    pub turn: Mutex<()>,
    /// Held while files are written or deleted: a write that hangs outlives a cancelled create.
    pub files: Mutex<()>,
    /// Ends the create under way, or the one that waits for its turn.
    pub cancel: RefCell<CancellationToken>,
    /// As the journal of an earlier slurmctld has it.
    pub before: Option<Claim>,
    /// Whose partition it is.
    pub owner: Cell<PartitionOwner>,
    /// Create calls that were never answered and have not shown their effect: each may still have it, however
    /// late.
    pub unanswered: Cell<u32>,
    /// A remove call was never answered: it may still take effect, however late.
    pub unanswered_remove: Cell<bool>,
    /// The journal may have an entry of it.
    pub recorded: Cell<bool>,
    /// It is certain that it has no files: none were written, or they were taken back.
    pub fileless: Cell<bool>,
    /// The Pod that was asked for it, or is to be.
    pub home: RefCell<Option<PodId>>,
    /// Where its files were, or are to be, written.
    pub directory: RefCell<Option<Arc<Path>>>,
}

impl Tracked {
    pub fn new(owner: PartitionOwner) -> Self {
        Self {
            turn: Mutex::default(),
            files: Mutex::default(),
            cancel: RefCell::default(),
            before: None,
            owner: Cell::new(owner),
            unanswered: Cell::new(0),
            unanswered_remove: Cell::new(false),
            recorded: Cell::new(owner != PartitionOwner::Unknown),
            fileless: Cell::new(false),
            home: RefCell::default(),
            directory: RefCell::default(),
        }
    }

    /// The claim on it, where it is: an earlier version gave an id to two jobs, on two controllers.
    pub fn at_home(&self, claim: &Claim) -> Claim {
        match self.home.borrow().clone() {
            Some(PodId { model, controller }) => Claim { model, controller, ..claim.clone() },
            None => claim.clone(),
        }
    }

    /// Whether its Pod may still make it of a call that was never answered.
    pub fn may_come_late(&self) -> bool {
        self.unanswered.get() > 0
    }

    /// Whether a call that was sent for this id before may hit what is made for this claim, or has made
    /// something else: then nothing is made under it any more.
    pub fn is_spent(&self, claim: &Claim) -> bool {
        let is_late = matches!(self.owner.get(), PartitionOwner::Late(_)) || self.unanswered_remove.get();
        is_late || self.before.as_ref().is_some_and(|before| wanted(before) != wanted(claim))
    }
}

/// What tells an earlier job of the same number from a later one: an earlier version gave both one id. The
/// start of a run does not, as it changes while nodes are powered up.
fn wanted(claim: &Claim) -> impl PartialEq {
    let Claim { run, user, model, controller, size, .. } = claim.clone();
    (run.job, run.restart, user, model, controller, size)
}
