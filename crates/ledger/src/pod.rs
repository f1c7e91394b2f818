//! One Pod: what its controller said last, and what fits into it.

use std::collections::{BTreeMap, HashMap};

use vipu_types::{IpuCount, ModelName, PartitionId};

use crate::capacity::Capacity;
use crate::claims::Serial;
use crate::forecast::Released;
use crate::{Millis, Place, SeenPartition, Wait};

/// Beyond any system; a listing that says more is not to be believed, nor given memory.
pub(crate) const MOST_IPUS: u32 = 1 << 20;

/// How the controller answered when it was asked last.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Contact {
    NotYet,
    Reached,
    Lost(String),
}

/// What a controller said of its IPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hardware {
    /// All IPUs.
    pub(crate) ipus: u32,
    /// Those that no partition can use.
    pub(crate) faulty: u32,
}

/// One Pod: its controller's last listing and its free blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    domain_size: IpuCount,
    contact: Contact,
    hardware: Hardware,
    /// When the listing was asked for; an older one is no news.
    asked: Millis,
    /// The partitions of the listing, but those that are gone since.
    listed: HashMap<PartitionId, Vec<Place>>,
    /// When partitions were removed: a listing asked for before may still name them.
    removed: HashMap<PartitionId, Millis>,
    /// Claims that the listing does not place, in the order in which their creates were asked for: a
    /// controller that fills the lowest block first puts them where the forecast does.
    unplaced: BTreeMap<Serial, IpuCount>,
    capacity: Capacity,
}

impl Pod {
    /// A Pod whose controller was not asked yet, with IPU-Link domains of this size.
    pub(crate) fn new(now: Millis, domain_size: IpuCount) -> Self {
        Self {
            capacity: Capacity::new(0, domain_size, []),
            domain_size,
            contact: Contact::NotYet,
            hardware: Hardware::default(),
            asked: now,
            listed: HashMap::new(),
            removed: HashMap::new(),
            unplaced: BTreeMap::new(),
        }
    }

    /// Whether the controller answered when it was asked last.
    pub(crate) fn is_reached(&self) -> bool {
        self.contact == Contact::Reached
    }

    /// Why no partition at all can be made now; `model` is whose Pod it is.
    pub(crate) fn trouble(&self, model: &ModelName) -> Option<Wait> {
        match &self.contact {
            Contact::Reached => None,
            Contact::NotYet => Some(Wait::NoAnswer { model: model.clone() }),
            Contact::Lost(reason) => Some(Wait::Unreachable { model: model.clone(), reason: reason.clone() }),
        }
    }

    pub(crate) fn hardware(&self) -> Hardware {
        self.hardware
    }

    pub(crate) fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    pub(crate) fn listed(&self) -> &HashMap<PartitionId, Vec<Place>> {
        &self.listed
    }

    /// Configuration changed.
    pub(crate) fn set_domain_size(&mut self, domain_size: IpuCount) {
        self.domain_size = domain_size;
        self.capacity = self.counted();
    }

    /// The controller did not answer.
    pub(crate) fn lost(&mut self, reason: String) {
        self.contact = Contact::Lost(reason);
    }

    /// Takes in a listing asked for at `asked`; whether it is news.
    /// [`Pod::place_claims`] has to follow.
    pub(crate) fn list(&mut self, asked: Millis, hardware: Hardware, partitions: Vec<SeenPartition>) -> bool {
        if asked < self.asked {
            return false;
        }
        self.removed.retain(|_, removed| *removed >= asked);
        let still_there = partitions.into_iter().filter(|seen| !self.removed.contains_key(&seen.partition));
        self.listed = still_there.map(|seen| (seen.partition, seen.places)).collect();
        (self.contact, self.hardware, self.asked) = (Contact::Reached, hardware, asked);
        true
    }

    /// Says which claims there are that the listing does not place.
    pub(crate) fn place_claims(&mut self, unplaced: impl IntoIterator<Item = (Serial, IpuCount)>) {
        self.unplaced = unplaced.into_iter().collect();
        self.capacity = self.counted();
    }

    /// A claim more, younger than all others.
    pub(crate) fn claim(&mut self, serial: Serial, size: IpuCount) {
        self.unplaced.insert(serial, size);
        self.capacity.take(size);
    }

    /// A claim less that had no partition.
    pub(crate) fn unclaim(&mut self, serial: Serial) {
        self.unplaced.remove(&serial);
        self.capacity = self.counted();
    }

    /// A claim and its partition less.
    pub(crate) fn removed(&mut self, now: Millis, serial: Serial, partition: PartitionId) {
        self.listed.remove(&partition);
        self.removed.insert(partition, now);
        self.unclaim(serial);
    }

    /// The free blocks, counted anew.
    pub(crate) fn counted(&self) -> Capacity {
        self.counted_without(&Released::default())
    }

    /// The free blocks there would be if these claims were gone.
    pub(crate) fn counted_without(&self, released: &Released<'_>) -> Capacity {
        let listed = || {
            let stays = |(id, _): &(&PartitionId, _)| !released.partitions.contains(id);
            self.listed.iter().filter(stays).map(|(_, places)| places)
        };
        let mut capacity = Capacity::new(self.hardware.ipus, self.domain_size, listed().flatten().copied());
        // A partition without places has at least one IPU.
        let hidden = listed().filter(|places| places.is_empty()).count();
        capacity.take_each(self.hardware.faulty.saturating_add(hidden as u32));
        for (_, size) in self.unplaced.iter().filter(|(serial, _)| !released.serials.contains(serial)) {
            capacity.take(*size);
        }
        capacity
    }
}
