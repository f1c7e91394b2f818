//! The controllers of the simulation: moods, and incidents.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use driver::{Failure, Listing, PartitionState};
use mock_vipu::{Hardware, Incident, Pod, Settings};
use rand::RngExt;
use tokio::time::Instant;
use vipu_client::wire::{
    PartitionOperationState as Operation, PartitionReadyState as Ready, PartitionStatus,
};
use vipu_types::{ControllerName, ModelName, PartitionId};

use crate::cluster::Cluster;
use crate::network::{self, Call, Fate, Network};
pub use crate::network::{Maker, Tag};
use crate::pool;
use crate::slurmctld::Slurmctld;

/// The time for which the driver's side waits for an answer.
pub const API_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time after the timeout at which the driver expects a create to take effect.
const LATE: Duration = Duration::from_millis(4_900);

/// The longest time after the timeout at which a create takes effect that nothing expects any more.
const VERY_LATE: Duration = Duration::from_secs(120);

/// The longest time that a create or a remove takes otherwise.
const USUAL: Duration = Duration::from_millis(20);

/// One controller.
pub type Machine = network::Machine<State>;

/// The connection from one slurmctld to a controller.
pub type Line = network::Line<Rc<Slurmctld>>;

/// The way in which a controller treats calls at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mood {
    #[default]
    Well,
    /// There is no connection.
    Refuses,
    /// Some calls get no answer and have no effect.
    Hangs,
    /// Some calls get an error that does not say whether they took effect.
    Garbles,
    /// Some calls take effect, and then the connection breaks.
    LosesReplies,
    /// The controller does not know this cluster.
    Stranger,
    /// Some creates take effect up to [`LATE`] after their caller has given up.
    CreatesLate,
    /// Some creates take effect up to [`VERY_LATE`] after their caller has given up.
    CreatesVeryLate,
    /// Some removes take effect up to [`VERY_LATE`] after their caller has given up.
    RemovesLate,
    /// Some resets take effect up to [`VERY_LATE`] after their caller has given up.
    ResetsLate,
    /// The answers are allowed by the interface, but the mock never gives them: see [`as_by_other_hands`].
    OtherHands,
    /// No call gets an answer or has an effect. Only `endless.rs` uses this.
    Silent,
    /// Removes are accepted and have no effect. Only `endless.rs` uses this.
    RemovesNothing,
}

/// The state of a controller besides its Pod.
#[derive(Default)]
pub struct State {
    pub mood: Cell<Mood>,
    /// The serial numbers of partitions that a fault took away.
    lost: RefCell<BTreeSet<u32>>,
    /// The last user of partitions since their create or reset, by serial number.
    users: RefCell<BTreeMap<u32, u32>>,
}

/// Creates a controller with a Pod of this many IPUs.
pub fn machine(name: &str, model: ModelName, ipus: u32, began: Instant) -> Machine {
    Machine::new(name.parse().unwrap(), model, pod(ipus), began)
}

fn pod(ipus: u32) -> Pod {
    let settings = Settings {
        create: Duration::from_millis(250),
        remove: Duration::from_millis(100),
        ..Settings::default()
    };
    Pod::new(Hardware::new(ipus), settings).unwrap()
}

impl Machine {
    /// Whether a fault took this partition away.
    pub fn has_lost(&self, tag: Tag) -> bool {
        self.state.lost.borrow().contains(&tag.serial)
    }

    /// Notes the user of a partition. Returns another one who has used it since its reset.
    pub fn used_by(&self, tag: Tag, user: u32) -> Option<u32> {
        self.state.users.borrow_mut().insert(tag.serial, user).filter(|before| *before != user)
    }

    /// All IPUs that two partitions had at once at any time.
    pub fn double_owners(&self) -> Vec<mock_vipu::DoubleOwner> {
        let mut pod = self.pod.borrow_mut();
        pod.advance(self.now());
        mock_vipu::double_owners(pod.records())
    }

    /// Restarts the controller without its partitions.
    pub fn forget(&self) {
        let gone = self.partitions();
        self.state.lost.borrow_mut().extend(gone.iter().map(|(_, tag)| tag.serial));
        let ipus = self.pod.borrow().ipus();
        self.pod.replace(pod(ipus));
    }

    /// Puts a partition into error, if it is active.
    pub fn break_one(&self, partition: &PartitionId) {
        let incident =
            Incident::PartitionError { partition: partition.to_string(), text: "link down".into() };
        // It may be a partition that cannot break.
        let _ = self.pod.borrow_mut().cause(&incident, self.now());
    }

    /// Takes a partition away.
    pub fn vanish(&self, partition: &PartitionId) {
        self.state.lost.borrow_mut().extend(self.tag(partition.as_str()).map(|tag| tag.serial));
        let incident = Incident::Vanish { partition: partition.to_string() };
        let _ = self.pod.borrow_mut().cause(&incident, self.now());
    }

    /// Ends all faults. Partitions that would be removed for ever vanish, and so do those of the pool that are in error: an
    /// administrator mends them.
    pub fn calm(&self) {
        self.state.mood.set(Mood::Well);
        self.pod.borrow_mut().clear_faults();
        for (partition, _) in self.partitions() {
            let status = self.pod.borrow_mut().status(partition.as_str(), self.now());
            let is_stuck = |it: &PartitionStatus| it.operation_state() == Operation::PosRemoving;
            let is_broken =
                |it: &PartitionStatus| it.ready_state() == Ready::PsError && pool::has(&partition);
            if status.is_ok_and(|it| is_stuck(&it) || is_broken(&it)) {
                self.vanish(&partition);
            }
        }
    }
}

impl Network for Rc<Slurmctld> {
    type State = State;
    const TIMEOUT: Duration = API_TIMEOUT;

    fn machine(&self, name: &ControllerName) -> Option<Rc<Machine>> {
        self.cluster.machine(name).cloned()
    }

    fn fate(&self, machine: &Machine, call: Call, _: Option<&PartitionId>) -> Fate {
        let cluster = &self.cluster;
        let often = cluster.chance(0.5);
        let (creates, removes) = (call == Call::Create, matches!(call, Call::Remove | Call::RemoveByForce));
        let unclear = |after, cause| Fate::Fails(after, Failure::Unclear, cause);
        match machine.state.mood.get() {
            Mood::Refuses => Fate::Fails(Duration::ZERO, Failure::NotSent, "connection refused"),
            Mood::Stranger => Fate::Fails(Duration::ZERO, Failure::Stranger, "who are you?"),
            Mood::Hangs if often => unclear(API_TIMEOUT, "no answer"),
            Mood::Garbles if often => {
                let cause = "<html>Bad Gateway</html>";
                if cluster.chance(0.5) { Fate::Unclear(cause) } else { unclear(Duration::ZERO, cause) }
            }
            Mood::LosesReplies if often => Fate::Unclear("connection reset"),
            Mood::Silent => unclear(API_TIMEOUT, "no answer"),
            Mood::CreatesLate if often && creates => Fate::Late(cluster.up_to(LATE)),
            Mood::CreatesVeryLate if often && creates => Fate::Late(cluster.up_to(VERY_LATE)),
            Mood::RemovesLate if often && removes => Fate::Late(cluster.up_to(VERY_LATE)),
            Mood::ResetsLate if often && call == Call::Reset => Fate::Late(cluster.up_to(VERY_LATE)),
            _ if creates || removes => Fate::After(cluster.up_to(USUAL)),
            _ => Fate::After(Duration::ZERO),
        }
    }

    fn outside(&self, work: impl Future<Output = ()> + 'static) {
        self.cluster.outside(work);
    }

    fn about_to_make(&self, partition: &PartitionId) -> Maker {
        Slurmctld::about_to_make(self, partition)
    }

    fn about_to_remove(&self, machine: &Machine, partition: &PartitionId) -> bool {
        self.about_to_change("remove", machine, partition);
        machine.state.mood.get() != Mood::RemovesNothing
    }

    fn about_to_reset(&self, machine: &Machine, partition: &PartitionId) {
        self.about_to_change("reset", machine, partition);
        if let Some(tag) = machine.tag(partition.as_str()) {
            machine.state.users.borrow_mut().remove(&tag.serial);
        }
    }

    fn shown(&self, machine: &Machine, state: PartitionState) -> PartitionState {
        if machine.state.mood.get() == Mood::OtherHands {
            as_by_other_hands(&self.cluster, state)
        } else {
            state
        }
    }

    fn change(&self, machine: &Machine, listing: &mut Listing) {
        if machine.state.mood.get() == Mood::OtherHands {
            list_as_by_other_hands(&self.cluster, listing);
        }
    }
}

/// Shows a partition as PENDING again after it was ACTIVE, or as REMOVED after it is gone.
fn as_by_other_hands(cluster: &Cluster, state: PartitionState) -> PartitionState {
    match state {
        PartitionState::Active if cluster.chance(0.3) => PartitionState::Pending,
        PartitionState::Absent if cluster.chance(0.5) => PartitionState::Removed,
        state => state,
    }
}

/// Changes a listing so that it disagrees with the others: it is empty, as after a restart, or lacks a
/// partition.
fn list_as_by_other_hands(cluster: &Cluster, listing: &mut Listing) {
    if cluster.chance(0.1) {
        listing.partitions.clear();
        listing.pool.clear();
    }
    if !listing.partitions.is_empty() && cluster.chance(0.3) {
        let pick = cluster.random.borrow_mut().random_range(0..listing.partitions.len());
        let missing = listing.partitions.remove(pick).partition;
        listing.pool.retain(|it| it.seen.partition != missing);
    }
}
