//! The driver's knowledge of one partition, from its first order until it is gone.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;

use ledger::{Claim, Seconds};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vipu_types::{JobRun, PodId};

use crate::{LiveRecord, Stage};

/// The owner of a partition of this name on the controller, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PartitionOwner {
    /// Unknown, because no create of it is known.
    #[default]
    Unknown,
    /// Us, because a create call of this cluster may have made it.
    Ours,
    /// A run of ours that is over. The partition is gone, but an unanswered create call may make it once
    /// more.
    Late(JobRun),
    /// Others, because no create call of this cluster can have made it.
    Others,
}

/// One partition, as the driver tracks it. Orders for it wait here for each other.
#[derive(Default)]
pub(crate) struct Tracked {
    /// Held by the task whose turn it is. Turns follow the order of the orders.
    pub turn: Mutex<()>,
    /// Held while files are written or deleted, because a write that hangs outlives a cancelled create.
    pub files: Mutex<()>,
    /// Ends the create that is under way or waits for its turn.
    pub cancel: RefCell<CancellationToken>,
    /// Cancelled when the partition is gone. Replaced by each order to remove it.
    pub gone: RefCell<CancellationToken>,
    /// The number of its present use: a run, its time without a run, or its removal.
    pub present_use: Cell<u32>,
    /// The claim in the journal of an earlier slurmctld.
    pub before: Option<Claim>,
    /// The owner of the partition.
    pub owner: Cell<PartitionOwner>,
    /// The create calls for it.
    pub calls: CreateCalls,
    /// A remove call that was not answered, or a reset whose end was not seen, may still take effect, however late.
    pub change_may_come_late: Cell<bool>,
    /// The end of the time for which no run gets the partition, once it is on record.
    pub withheld: Cell<Option<Seconds>>,
    /// The partition is of a pool, or shared by all jobs. It is never made for a run, and never removed.
    pub stays: Cell<bool>,
    /// The journal may have an entry of the partition.
    pub recorded: Cell<bool>,
    /// The partition certainly has no files: none were written, or all were taken back.
    pub fileless: Cell<bool>,
    /// The Pod on which the partition was requested, or will be.
    pub home: RefCell<Option<PodId>>,
    /// The directory of its files, written or to be written.
    pub directory: RefCell<Option<Arc<Path>>>,
}

impl Tracked {
    /// The partition of an earlier slurmctld, as its journal has it.
    pub fn of(record: LiveRecord) -> Self {
        let withheld = match record.stage {
            Stage::Withheld(until) => Some(until),
            _ => None,
        };
        let owner = match (withheld, record.stays) {
            (None, _) => PartitionOwner::Ours,
            (Some(_), false) => PartitionOwner::Late(record.claim.run),
            (Some(_), true) => PartitionOwner::Unknown,
        };
        // The ledger withholds a partition of a pool for as long.
        let is_leaving = !record.stays && !matches!(record.stage, Stage::Creating | Stage::Created);
        Self {
            owner: Cell::new(owner),
            calls: CreateCalls::of(&record),
            change_may_come_late: Cell::new(is_leaving),
            withheld: Cell::new(withheld),
            stays: Cell::new(record.stays),
            recorded: Cell::new(true),
            fileless: Cell::new(!record.may_exist()),
            home: RefCell::new(Some(record.claim.pod())),
            directory: RefCell::new(record.ipuof_dir.map(Into::into)),
            before: Some(record.claim),
            ..Self::default()
        }
    }

    /// Whether the journal of an earlier slurmctld has the partition as that of this run.
    pub fn is_on_record(&self, run: JobRun) -> bool {
        self.before.as_ref().is_some_and(|before| before.run == run)
    }

    /// Ends the present use. Work for it that still goes on writes no file and no entry any more.
    pub fn begin_next_use(&self) {
        self.present_use.update(|number| number + 1);
    }

    /// Whether the partition is ours, and its present use has this number.
    pub fn is_used_for(&self, number: u32) -> bool {
        self.owner.get() == PartitionOwner::Ours && self.present_use.get() == number
    }

    /// The claim, moved to the Pod that has the partition. An earlier version gave one id to two jobs on two
    /// controllers.
    pub fn at_home(&self, claim: &Claim) -> Claim {
        match self.home.borrow().clone() {
            Some(PodId { model, controller }) => Claim { model, controller, ..claim.clone() },
            None => claim.clone(),
        }
    }

    /// Whether the partition can be given to another job: no call for it may still take effect, and none was sent
    /// by an earlier slurmctld.
    pub fn is_reusable(&self) -> bool {
        self.owner.get() == PartitionOwner::Ours
            && (self.before.is_none() || self.stays.get())
            && !self.calls.may_come_late()
            && !self.change_may_come_late.get()
    }

    /// Whether the id must not be used any more: an earlier call for it may hit the new partition, or has
    /// made a different one.
    pub fn is_spent(&self, claim: &Claim) -> bool {
        let is_late = matches!(self.owner.get(), PartitionOwner::Late(_)) || self.change_may_come_late.get();
        is_late || (!self.stays.get() && self.has_other_claim_before(claim))
    }

    fn has_other_claim_before(&self, claim: &Claim) -> bool {
        self.before.as_ref().is_some_and(|before| wanted(before) != wanted(claim))
    }
}

/// The facts that tell an earlier job of this number from a later one, because an earlier version gave both
/// one id. The start of a run is not among them: it changes while nodes are powered up.
fn wanted(claim: &Claim) -> impl PartialEq {
    let Claim { run, user, model, controller, size, .. } = claim.clone();
    (run.job, run.restart, user, model, controller, size)
}

/// The create calls for one partition: whether each was answered, and whether the controller has had the partition.
#[derive(Default)]
pub(crate) struct CreateCalls {
    /// The number of calls without an answer and without a visible effect. Each may still take effect, however late.
    unanswered: Cell<u32>,
    /// The sender of the last call, if it is one of these.
    open: Cell<Option<Sender>>,
    /// The controller has had the partition.
    was_made: Cell<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    ThisDriver,
    /// An earlier slurmctld, which may have ended before the answer came.
    Earlier,
}

impl CreateCalls {
    /// The calls of an earlier slurmctld.
    pub fn of(record: &LiveRecord) -> Self {
        let is_open = record.has_open_call();
        Self {
            unanswered: Cell::new(record.unanswered + u32::from(is_open)),
            open: Cell::new(is_open.then_some(Sender::Earlier)),
            was_made: Cell::new(record.stays || record.stage == Stage::Created || record.launched.is_some()),
        }
    }

    /// Notes that a call is sent. From now on nobody can tell the effect of an earlier call from its effect.
    pub fn sent(&self) {
        self.open.set(None);
    }

    /// Notes that the controller took the request of the last call.
    pub fn accepted(&self) {
        self.was_made.set(true);
    }

    /// Notes that the last call was not answered.
    pub fn not_answered(&self) {
        self.unanswered.update(|calls| calls + 1);
        self.open.set(Some(Sender::ThisDriver));
    }

    /// Notes that the controller has the partition. This is the effect of the last call, if it was not answered.
    pub fn seen(&self) {
        self.was_made.set(true);
        if self.open.take().is_some() {
            self.unanswered.update(|calls| calls.saturating_sub(1));
        }
    }

    /// Notes that a listing has the partition. The listing may have been requested before the last call of this
    /// driver.
    pub fn listed(&self) {
        if self.open.get() == Some(Sender::Earlier) {
            self.seen();
        }
    }

    /// The number of calls that may still make the partition.
    pub fn number_unanswered(&self) -> u32 {
        self.unanswered.get()
    }

    /// Whether an unanswered call may still make the partition.
    pub fn may_come_late(&self) -> bool {
        self.unanswered.get() > 0
    }

    /// Whether the controller has had the partition, as far as is known.
    pub fn was_made(&self) -> bool {
        self.was_made.get()
    }

    /// Forgets the unanswered calls, because they are too old to take effect.
    pub fn forget(&self) {
        self.unanswered.set(0);
        self.open.set(None);
    }
}
