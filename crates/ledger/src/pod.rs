//! One Pod: what its controller said last, and what fits into it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use vipu_types::{IpuCount, ModelName, PartitionId};

use crate::capacity::{Capacity, usable_domain};
use crate::claims::Serial;
use crate::{Claim, Millis, Place, SeenPartition, Wait};

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

/// What a claim has that the listing does not show yet.
#[derive(Clone, Debug)]
pub(crate) struct Unlisted {
    pub(crate) size: IpuCount,
    /// The IPUs that it will be on; empty when the controller chooses.
    pub(crate) ipus: Vec<Place>,
}

impl From<&Claim> for Unlisted {
    fn from(claim: &Claim) -> Self {
        Self { size: claim.size, ipus: claim.ipus.clone() }
    }
}

/// Who has IPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Occupant<'a> {
    /// A partition of the listing.
    Partition(&'a PartitionId),
    /// A claim that the listing does not place.
    Claim(Serial),
    /// Nobody who gives them back: broken, or of a partition that does not say.
    Nobody,
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
    unplaced: BTreeMap<Serial, Unlisted>,
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

    pub(crate) fn domain_size(&self) -> IpuCount {
        self.domain_size
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
    pub(crate) fn place_claims(&mut self, unplaced: impl IntoIterator<Item = (Serial, Unlisted)>) {
        self.unplaced = unplaced.into_iter().collect();
        self.capacity = self.counted();
    }

    /// A claim more, younger than all others.
    pub(crate) fn claim(&mut self, serial: Serial, claim: Unlisted) {
        let (size, is_chosen) = (claim.size, !claim.ipus.is_empty());
        self.unplaced.insert(serial, claim);
        if is_chosen {
            self.capacity = self.counted();
        } else {
            self.capacity.take(size, &mut |_| {});
        }
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
        self.occupied(|_| (), |(), _| {})
    }

    /// Whether a claim that the listing does not show will fit beside what stays of the listing and the claims
    /// before it.
    pub(crate) fn will_have_room(&self, serial: Serial, stays: impl Fn(&PartitionId) -> bool) -> bool {
        let Some(claim) = self.unplaced.get(&serial) else { return true };
        let staying = self.listed.iter().filter(|(id, _)| stays(id));
        let places: Vec<Place> = staying.flat_map(|(_, places)| places).copied().collect();
        if !claim.ipus.is_empty() {
            return !claim.ipus.iter().any(|ipu| places.contains(ipu));
        }
        let mut capacity = Capacity::new(self.hardware.ipus, self.domain_size, places);
        capacity.take_each(self.hardware.faulty, &mut |_| {});
        for (_, before) in self.unplaced.range(..serial) {
            capacity.take(before.size, &mut |_| {});
        }
        capacity.largest() >= claim.size.get()
    }

    /// Tells who has which IPUs, as far as that is known or assumed: `of` is asked once of each, `has` is told
    /// that for each run of its IPUs. Returns the free blocks that remain.
    pub(crate) fn occupied<T: Copy>(
        &self,
        of: impl Fn(Occupant<'_>) -> T,
        mut has: impl FnMut(T, Range<usize>),
    ) -> Capacity {
        let (ipus, domain) = (self.hardware.ipus, usable_domain(self.hardware.ipus, self.domain_size));
        let listed = self.listed.iter().map(|(id, places)| (Occupant::Partition(id), places));
        let chosen = self.unplaced.iter().map(|(serial, claim)| (Occupant::Claim(*serial), &claim.ipus));
        for (occupant, places) in
            listed.clone().chain(chosen.clone()).filter(|(_, places)| !places.is_empty())
        {
            let it = of(occupant);
            let numbers = places.iter().filter_map(|place| place.number(domain));
            numbers.filter(|ipu| *ipu < ipus as usize).for_each(|ipu| has(it, ipu..ipu + 1));
        }
        let places = listed.chain(chosen).flat_map(|(_, places)| places).copied();
        let mut capacity = Capacity::new(ipus, self.domain_size, places);
        // A partition without places has at least one IPU.
        let hidden = self.listed.values().filter(|places| places.is_empty()).count();
        let nobody = of(Occupant::Nobody);
        capacity.take_each(self.hardware.faulty.saturating_add(hidden as u32), &mut |ipus| has(nobody, ipus));
        for (serial, claim) in self.unplaced.iter().filter(|(_, claim)| claim.ipus.is_empty()) {
            let it = of(Occupant::Claim(*serial));
            capacity.take(claim.size, &mut |ipus| has(it, ipus));
        }
        capacity
    }
}
