//! One Pod: its controller's last listing, and the room in it.

pub(crate) mod occupants;
pub(crate) mod pool;

use std::collections::{BTreeMap, HashMap, HashSet};

use vipu_types::{IpuCount, ModelName, PartitionId, Place, Words};

use crate::claim::Serial;
use crate::drains::DrainedIpus;
use crate::free_blocks::FreeBlocks;
use crate::ipu_holders::IpuHolder;
use crate::refusals::{RefusingController, Suspects};
use crate::{Layout, Millis, SeenPartition, Wait};
use pool::PodPool;

/// A number of IPUs beyond any system. A listing with more is not believed and gets no memory.
pub(crate) const MOST_IPUS: u32 = 1 << 20;

/// The time in milliseconds after a removal for which a controller may refuse although it has room.
const SETTLING: u64 = 10_000;

/// The controller's answer to the last question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// There was no question yet, or no answer.
    NotYet,
    /// It answered.
    Reached,
    /// It gave no answer, or one without sense: the reason.
    Lost(Words),
}

/// The IPUs of a controller, in its own count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hardware {
    /// All IPUs.
    pub(crate) ipus: u32,
    /// IPUs that no partition can use.
    pub(crate) faulty: u32,
}

/// A partition of the listing.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) places: Vec<Place>,
    pub(crate) holder: IpuHolder,
}

/// The IPUs of a claim that the listing does not show yet.
#[derive(Clone, Debug)]
pub(crate) struct Unlisted {
    pub(crate) size: IpuCount,
    /// The chosen IPUs. Empty if the controller chooses.
    pub(crate) ipus: Vec<Place>,
    pub(crate) holder: IpuHolder,
}

/// One Pod: its controller's last listing and its free blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    /// The blocks of IPUs that partitions can have.
    layout: Layout,
    /// The pool, if its model has one.
    pool: Option<PodPool>,
    contact: Contact,
    /// The time at which the controller began or ceased to answer.
    contact_since: Millis,
    hardware: Hardware,
    /// The time at which the listing was requested. An older listing is no news.
    asked: Millis,
    /// The partitions of the listing, except for those that are gone since.
    listed: HashMap<PartitionId, Listed>,
    /// The times of removals. A listing requested before may still have the partition.
    removed: HashMap<PartitionId, Millis>,
    /// The time of the last removal.
    last_removed: Option<Millis>,
    /// Partitions of the listing that are named like ours and have no claim. They were reported.
    pub(crate) unclaimed: HashSet<PartitionId>,
    /// Claims that the listing does not place, in the order of their creates. A controller that fills the
    /// lowest block first puts them at the places of the forecast.
    unplaced: BTreeMap<Serial, Unlisted>,
    /// IPUs that must be unusable, because the controller refuses although its listing shows room.
    suspects: Suspects,
    /// IPUs on which nothing new starts.
    drained: Vec<DrainedIpus>,
    /// IPUs that are known to be unusable.
    broken: Vec<Place>,
    /// The refusals of all jobs, while they last.
    pub(crate) refusing: Option<RefusingController>,
    free_blocks: FreeBlocks,
    /// The number of drained IPUs that would be free without the drains.
    drained_and_free: u32,
}

impl Pod {
    /// A Pod with IPU-Link domains of this size, whose controller was not asked yet.
    pub(crate) fn new(now: Millis, domain_size: IpuCount) -> Self {
        let layout = Layout::Domains(domain_size);
        Self {
            free_blocks: FreeBlocks::new(0, &layout, []),
            drained_and_free: 0,
            layout,
            pool: None,
            contact: Contact::NotYet,
            contact_since: now,
            hardware: Hardware::default(),
            asked: now,
            listed: HashMap::new(),
            removed: HashMap::new(),
            last_removed: None,
            unclaimed: HashSet::new(),
            unplaced: BTreeMap::new(),
            suspects: Suspects::default(),
            drained: Vec::new(),
            broken: Vec::new(),
            refusing: None,
        }
    }

    /// Whether the controller answered the last question.
    pub(crate) fn is_reached(&self) -> bool {
        self.contact == Contact::Reached
    }

    /// The controller's answer to the last question, and the time since when it answers or does not.
    pub(crate) fn contact(&self) -> (&Contact, Millis) {
        (&self.contact, self.contact_since)
    }

    /// Whether all IPUs that are not free are in partitions of the listing, with their places.
    pub(crate) fn lists_everything(&self) -> bool {
        let has_places = self.listed.values().all(|listed| !listed.places.is_empty());
        has_places
            && self.unplaced.is_empty()
            && self.broken.is_empty()
            && self.hardware.faulty == 0
            && self.suspects.is_empty()
    }

    /// Sets the IPUs that are known to be unusable, until the next listing with others. Returns whether some have become
    /// usable.
    pub(crate) fn set_broken(&mut self, places: Vec<Place>) -> bool {
        let is_any_mended = self.broken.iter().any(|place| !places.contains(place));
        if self.broken != places {
            self.broken = places;
            self.recount();
        }
        is_any_mended
    }

    /// Whether the controller left the last question unanswered.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.contact, Contact::Lost(_))
    }

    /// The reason why no partition can be made now. `model` is the Pod's model.
    pub(crate) fn trouble(&self, model: &ModelName) -> Option<Wait> {
        match &self.contact {
            Contact::Reached => {
                let reason = self.refusing.as_ref()?.reason.clone();
                Some(Wait::Unreachable { model: model.clone(), reason })
            }
            Contact::NotYet => Some(Wait::NoAnswer { model: model.clone() }),
            Contact::Lost(reason) => Some(Wait::Unreachable { model: model.clone(), reason: reason.clone() }),
        }
    }

    /// Notes that a job of this user asks.
    pub(crate) fn asks(&mut self, user: u32) {
        if let Some(refusing) = &mut self.refusing {
            refusing.asked_by(user);
        }
    }

    pub(crate) fn hardware(&self) -> Hardware {
        self.hardware
    }

    pub(crate) fn free_blocks(&self) -> &FreeBlocks {
        &self.free_blocks
    }

    pub(crate) fn listed(&self) -> &HashMap<PartitionId, Listed> {
        &self.listed
    }

    /// Takes the layout of a new configuration: domains of this size, or a pool. The IPUs of a pool are those of the
    /// next listing.
    pub(crate) fn set_layout(&mut self, domain_size: IpuCount, is_pool: bool) {
        if is_pool && self.pool.is_some() {
            return;
        }
        let layout = if is_pool { Layout::Pool([].into()) } else { Layout::Domains(domain_size) };
        if layout != self.layout {
            self.suspects = Suspects::default();
        }
        if is_pool || self.pool.is_some() {
            (self.hardware, self.listed) = (Hardware::default(), HashMap::new());
            self.unplaced.clear();
        }
        self.broken.clear();
        self.pool = is_pool.then(PodPool::default);
        self.layout = layout;
        self.recount();
    }

    /// Notes that the controller did not answer.
    pub(crate) fn lost(&mut self, now: Millis, reason: Words) {
        if !self.is_lost() {
            self.contact_since = now;
        }
        self.contact = Contact::Lost(reason);
    }

    /// Takes a listing that was requested at `asked` and arrives now. `holder` gives the holder of each partition, if there is
    /// one. Returns whether the listing is news. [`Pod::place_claims`] has to follow.
    pub(crate) fn list(
        &mut self,
        now: Millis,
        asked: Millis,
        hardware: Hardware,
        partitions: Vec<SeenPartition>,
        holder: impl Fn(&PartitionId) -> Option<IpuHolder>,
    ) -> bool {
        if asked < self.asked {
            return false;
        }
        if !self.is_reached() {
            self.contact_since = now;
        }
        (self.contact, self.asked) = (Contact::Reached, asked);
        if self.pool.is_some() {
            self.list_pool(holder);
            return true;
        }
        self.removed.retain(|_, removed| *removed >= asked);
        let still_there = partitions.into_iter().filter(|seen| !self.removed.contains_key(&seen.partition));
        let listed = still_there.map(|SeenPartition { partition, places, leaving, .. }| {
            let without_claim = if leaving { IpuHolder::Leaving } else { IpuHolder::Unknown };
            let holder = holder(&partition).unwrap_or(without_claim);
            (partition, Listed { places, holder })
        });
        self.listed = listed.collect();
        self.review_suspects(asked, hardware);
        self.hardware = hardware;
        true
    }

    /// Sets the claims that the listing does not place.
    pub(crate) fn place_claims(&mut self, unplaced: impl IntoIterator<Item = (Serial, Unlisted)>) {
        self.unplaced = unplaced.into_iter().collect();
        self.recount();
    }

    /// Adds a claim that is younger than all others.
    pub(crate) fn claim(&mut self, serial: Serial, claim: Unlisted) {
        let (size, is_chosen) = (claim.size, !claim.ipus.is_empty());
        self.unplaced.insert(serial, claim);
        if is_chosen {
            self.recount();
        } else {
            self.free_blocks.take(size, &mut |_| {});
        }
    }

    /// Changes the holder of a claim's IPUs.
    pub(crate) fn set_holder(&mut self, serial: Serial, partition: &PartitionId, holder: IpuHolder) {
        let unplaced = self.unplaced.get_mut(&serial).map(|claim| &mut claim.holder);
        let listed = self.listed.get_mut(partition).map(|listed| &mut listed.holder);
        let Some(known) = unplaced.or(listed) else { return };
        let before = std::mem::replace(known, holder);
        if before.is_free() != holder.is_free() {
            self.recount();
        }
    }

    /// Takes out a claim whose partition gets another one.
    pub(crate) fn forget(&mut self, serial: Serial) {
        if self.unplaced.remove(&serial).is_some() {
            self.recount();
        }
    }

    /// The claims that the listing does not place.
    pub(crate) fn unplaced(&self) -> &BTreeMap<Serial, Unlisted> {
        &self.unplaced
    }

    /// Takes out a claim and its partition.
    pub(crate) fn removed(&mut self, now: Millis, serial: Serial, partition: PartitionId, is_withheld: bool) {
        if self.is_in_pool(&partition) {
            return self.set_withheld(&partition, is_withheld);
        }
        self.listed.remove(&partition);
        self.removed.insert(partition, now);
        self.last_removed = Some(now);
        self.unplaced.remove(&serial);
        self.recount();
    }

    /// Whether a partition is being released, or was until a moment ago. The controller may not have its IPUs
    /// to give yet.
    pub(crate) fn is_being_cleared(&self, now: Millis) -> bool {
        let just_removed = self.last_removed.is_some_and(|last| now.0 < last.0 + SETTLING);
        let listed = self.listed.values().map(|listed| listed.holder);
        let unplaced = self.unplaced.values().map(|claim| claim.holder);
        just_removed || listed.chain(unplaced).any(|holder| holder == IpuHolder::Leaving)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// IPUs in one IPU-Link domain of this Pod.
    pub(crate) fn domain(&self) -> u32 {
        self.layout.domain(self.hardware.ipus)
    }
}
