//! What the driver knows of one partition, from its first order until it is gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ledger::Claim;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, PodId};

/// Whose partition it is, should the controller have one of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No create of it is known.
    Unknown,
    /// A create call of this cluster may have made it, for this run.
    Run(JobRun),
    /// It was made for this run and is gone; a create call that was never answered may make it once more.
    Late(JobRun),
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
    /// Create calls that were never answered and have not shown their effect: each may still have it, however late.
    pub unanswered: Cell<u32>,
    /// The same of Pods that were asked for it before `home`: what they make is nobody's.
    elsewhere: RefCell<BTreeMap<PodId, u32>>,
    /// The journal may have an entry of it.
    pub recorded: Cell<bool>,
    /// It is certain that it has no files: none were written, or they were taken back.
    pub fileless: Cell<bool>,
    /// The Pod that was asked for it, or is to be.
    pub home: RefCell<Option<PodId>>,
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
            unanswered: Cell::new(0),
            elsewhere: RefCell::default(),
            recorded: Cell::new(owner != Owner::Unknown),
            fileless: Cell::new(false),
            home: RefCell::default(),
            directory: RefCell::default(),
        }
    }

    /// The claim on it, where it is: a newer job of the same id may have its own on another controller.
    pub fn at_home(&self, claim: &Claim) -> Claim {
        match self.home.borrow().clone() {
            Some(PodId { model, controller }) => Claim { model, controller, ..claim.clone() },
            None => claim.clone(),
        }
    }

    /// It is asked of this Pod from now on. What an earlier one may still make of an unanswered call is nothing that
    /// is met there.
    pub fn move_to(&self, pod: PodId) {
        let Some(before) = self.home.replace(Some(pod.clone())).filter(|before| *before != pod) else {
            return;
        };
        let mut elsewhere = self.elsewhere.borrow_mut();
        let there = elsewhere.remove(&pod).unwrap_or(0);
        let calls = self.unanswered.replace(there);
        if calls > 0 {
            elsewhere.insert(before, calls);
        }
    }

    /// Whether a Pod may still make it of a call that was never answered.
    pub fn may_come_late(&self) -> bool {
        self.unanswered.get() > 0 || !self.elsewhere.borrow().is_empty()
    }

    /// Whether this Pod may.
    pub fn may_come_late_on(&self, pod: &PodId) -> bool {
        self.home.borrow().as_ref() == Some(pod) || self.elsewhere.borrow().contains_key(pod)
    }

    /// Nobody makes it any more.
    pub fn forget(&self) {
        self.owner.set(Owner::Unknown);
        self.elsewhere.take();
    }

    /// Whether the controller may have a partition that was made for another run: a slurmctld that was killed may
    /// hand out a job id twice.
    pub fn is_of_another(&self, run: JobRun) -> bool {
        matches!(self.owner.get(), Owner::Run(other) | Owner::Late(other) if other != run)
    }
}

#[cfg(test)]
mod tests {
    use vipu_types::{ControllerName, ModelName};

    use super::*;

    fn pod(host: &str) -> PodId {
        let controller = ControllerName::new(host, 8090).unwrap();
        PodId { model: ModelName::new("pod64").unwrap(), controller }
    }

    #[test]
    fn what_a_pod_may_still_make_is_known_when_another_was_asked() {
        let (a, b, c) = (pod("a"), pod("b"), pod("c"));
        let lane = Lane::new(Owner::Unknown);
        lane.move_to(a.clone());
        lane.unanswered.set(2);
        lane.move_to(b.clone());
        assert_eq!(lane.unanswered.get(), 0);
        assert!(lane.may_come_late() && lane.may_come_late_on(&a) && lane.may_come_late_on(&b));
        lane.move_to(c.clone());
        assert!(lane.may_come_late_on(&a) && !lane.may_come_late_on(&b));
        lane.move_to(a);
        assert_eq!(lane.unanswered.get(), 2);
        lane.forget();
        assert!(!lane.may_come_late_on(&c));
    }
}
