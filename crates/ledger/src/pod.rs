//! One Pod: its controller's last listing, and the room in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use vipu_types::{IpuCount, ModelName, PartitionId, Place};

use crate::claim::Serial;
use crate::drains::DrainedIpus;
use crate::free_blocks::{FreeBlocks, usable_domain};
use crate::ipu_holders::{IpuHolder, IpuHolders};
use crate::refusing_controller::RefusingController;
use crate::suspects::Suspects;
use crate::{Claim, Millis, Seconds, SeenPartition, Wait};

/// A number of IPUs beyond any system. A listing with more is not believed and gets no memory.
pub(crate) const MOST_IPUS: u32 = 1 << 20;

/// The time in milliseconds after a removal for which a controller may refuse although it has room.
const SETTLING: u64 = 10_000;

/// The largest number of further searches for suspects after one refusal.
const MOST_ROUNDS: u32 = 8;

/// The controller's answer to the last question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// There was no question yet, or no answer.
    NotYet,
    /// It answered.
    Reached,
    /// It gave no answer, or one without sense: the reason.
    Lost(String),
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

/// The occupant of IPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Occupant {
    /// A partition of the listing.
    Partition(IpuHolder),
    /// A claim that the listing does not place.
    Claim(Serial, IpuHolder),
    /// An administrator who drained them, until this time if it is known. Others may have them as well.
    Drained(Option<Seconds>),
    /// No holder that could release them: broken IPUs, or a partition without places.
    Nobody,
}

impl Occupant {
    fn is_claim(&self, serial: Serial) -> bool {
        matches!(self, Self::Claim(other, _) if *other == serial)
    }

    pub(crate) fn is_drain(&self) -> bool {
        matches!(self, Self::Drained(_))
    }
}

/// One Pod: its controller's last listing and its free blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pod {
    domain_size: IpuCount,
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
    /// The refusals of all jobs, while they last.
    pub(crate) refusing: Option<RefusingController>,
    free_blocks: FreeBlocks,
}

impl Pod {
    /// A Pod with IPU-Link domains of this size, whose controller was not asked yet.
    pub(crate) fn new(now: Millis, domain_size: IpuCount) -> Self {
        Self {
            free_blocks: FreeBlocks::new(0, domain_size, []),
            domain_size,
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
        has_places && self.unplaced.is_empty() && self.hardware.faulty == 0 && self.suspects.is_empty()
    }

    /// Whether this IPU must be unusable, because the controller refuses.
    pub(crate) fn is_suspected(&self, ipu: usize) -> bool {
        self.suspects.all().any(|suspect| suspect == ipu)
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

    /// Whether the controller refuses all jobs.
    pub(crate) fn refuses_all(&self) -> bool {
        self.refusing.is_some()
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

    /// Takes the domain size of a new configuration.
    pub(crate) fn set_domain_size(&mut self, domain_size: IpuCount) {
        if domain_size != self.domain_size {
            self.suspects = Suspects::default();
        }
        self.domain_size = domain_size;
        self.free_blocks = self.counted();
    }

    /// Sets the IPUs on which nothing new starts.
    pub(crate) fn set_drained(&mut self, drained: Vec<DrainedIpus>) {
        if self.drained != drained {
            self.drained = drained;
            self.free_blocks = self.counted();
        }
    }

    pub(crate) fn drained(&self) -> &[DrainedIpus] {
        &self.drained
    }

    /// Whether an IPU of this claim is drained.
    pub(crate) fn drains_claim(&self, claim: &Claim) -> bool {
        let listed = self.listed.get(&claim.partition).map_or(&[][..], |listed| &listed.places);
        let has = |place| listed.contains(place) || claim.ipus.contains(place);
        self.drained.iter().any(|drained| drained.place.as_ref().is_none_or(has))
    }

    /// The number of drained IPUs.
    pub(crate) fn drained_ipus(&self) -> u32 {
        if self.drained.iter().any(|drained| drained.place.is_none()) {
            return self.hardware.ipus;
        }
        let places: HashSet<_> = self.drained.iter().flat_map(|drained| self.numbers(drained)).collect();
        places.len() as u32
    }

    /// The numbers of drained IPUs.
    fn numbers(&self, drained: &DrainedIpus) -> Range<usize> {
        let ipus = self.hardware.ipus as usize;
        let Some(place) = drained.place else { return 0..ipus };
        place.number(self.domain()).filter(|ipu| *ipu < ipus).map_or(0..0, |ipu| ipu..ipu + 1)
    }

    /// Notes that the controller did not answer.
    pub(crate) fn lost(&mut self, now: Millis, reason: String) {
        if !self.is_lost() {
            self.contact_since = now;
        }
        self.contact = Contact::Lost(reason);
    }

    /// Takes a listing requested at `asked`. `holder` gives the holder of each partition. Returns whether the
    /// listing is news. [`Pod::place_claims`] has to follow.
    pub(crate) fn list(
        &mut self,
        asked: Millis,
        hardware: Hardware,
        partitions: Vec<SeenPartition>,
        holder: impl Fn(&PartitionId) -> IpuHolder,
    ) -> bool {
        if asked < self.asked {
            return false;
        }
        self.removed.retain(|_, removed| *removed >= asked);
        let still_there = partitions.into_iter().filter(|seen| !self.removed.contains_key(&seen.partition));
        let listed = still_there.map(|SeenPartition { partition, places, leaving, .. }| {
            let holder = match holder(&partition) {
                IpuHolder::Unknown if leaving => IpuHolder::Leaving,
                holder => holder,
            };
            (partition, Listed { places, holder })
        });
        self.listed = listed.collect();
        self.review_suspects(asked, hardware);
        if !self.is_reached() {
            self.contact_since = asked;
        }
        (self.contact, self.hardware, self.asked) = (Contact::Reached, hardware, asked);
        true
    }

    /// Acquits the suspects that the new listing clears.
    fn review_suspects(&mut self, asked: Millis, hardware: Hardware) {
        if hardware != self.hardware {
            self.suspects = Suspects::default();
        } else {
            let places = self.listed.values().flat_map(|listed| &listed.places);
            let in_use: HashSet<usize> = places.filter_map(|place| place.number(self.domain())).collect();
            self.suspects.review(asked, |ipu| in_use.contains(&ipu));
        }
    }

    /// Sets the claims that the listing does not place.
    pub(crate) fn place_claims(&mut self, unplaced: impl IntoIterator<Item = (Serial, Unlisted)>) {
        self.unplaced = unplaced.into_iter().collect();
        self.free_blocks = self.counted();
    }

    /// Adds a claim that is younger than all others.
    pub(crate) fn claim(&mut self, serial: Serial, claim: Unlisted) {
        let (size, is_chosen) = (claim.size, !claim.ipus.is_empty());
        self.unplaced.insert(serial, claim);
        if is_chosen {
            self.free_blocks = self.counted();
        } else {
            self.free_blocks.take(size, &mut |_| {});
        }
    }

    /// Changes the holder of a claim's IPUs.
    pub(crate) fn set_holder(&mut self, serial: Serial, partition: &PartitionId, holder: IpuHolder) {
        if let Some(claim) = self.unplaced.get_mut(&serial) {
            claim.holder = holder;
        } else if let Some(listed) = self.listed.get_mut(partition) {
            listed.holder = holder;
        }
    }

    /// The claims that the listing does not place.
    pub(crate) fn unplaced(&self) -> &BTreeMap<Serial, Unlisted> {
        &self.unplaced
    }

    /// Takes out a claim and its partition.
    pub(crate) fn removed(&mut self, now: Millis, serial: Serial, partition: PartitionId) {
        self.listed.remove(&partition);
        self.removed.insert(partition, now);
        self.last_removed = Some(now);
        self.unplaced.remove(&serial);
        self.free_blocks = self.counted();
    }

    /// The present holders of the IPUs.
    pub(crate) fn ipu_holders(&self) -> IpuHolders {
        let mut held = Vec::new();
        let holder = |who: Occupant| match who {
            Occupant::Partition(holder) | Occupant::Claim(_, holder) => holder,
            Occupant::Drained(until) => IpuHolder::Drained(until),
            Occupant::Nobody => IpuHolder::Unknown,
        };
        self.occupied(|who| Some(holder(who)), |holder, ipus| held.push((ipus, holder)));
        IpuHolders::new(self.hardware.ipus, self.domain_size, held)
    }

    /// The free blocks, counted anew.
    pub(crate) fn counted(&self) -> FreeBlocks {
        self.occupied(|_| Some(()), |(), _| {})
    }

    /// Whether a claim fits beside the other occupants that stay. None if the listing shows its partition.
    pub(crate) fn has_room(&self, serial: Serial, stays: impl Fn(Occupant) -> bool) -> Option<bool> {
        let claim = self.unplaced.get(&serial)?;
        // A drain is no reason to give up a create under way.
        let stays = |who: Occupant| !who.is_claim(serial) && !who.is_drain() && stays(who);
        if claim.ipus.is_empty() {
            let free = self.occupied(|who| stays(who).then_some(()), |(), _| {});
            return Some(free.first_for(claim.size).is_some());
        }
        let wanted: Vec<_> = claim.ipus.iter().filter_map(|place| place.number(self.domain())).collect();
        // Occupants at assumed places do not count.
        let is_known = |who: Occupant| match who {
            Occupant::Partition(_) => true,
            Occupant::Claim(other, _) => {
                self.unplaced.get(&other).is_some_and(|other| !other.ipus.is_empty())
            }
            Occupant::Drained(_) | Occupant::Nobody => false,
        };
        let mut is_free = true;
        self.occupied(
            |who| (stays(who) && is_known(who)).then_some(()),
            |(), ipus| is_free &= !wanted.iter().any(|ipu| ipus.contains(ipu)),
        );
        Some(is_free)
    }

    /// Whether a partition is being released, or was until a moment ago. The controller may not have its IPUs
    /// to give yet.
    pub(crate) fn is_being_cleared(&self, now: Millis) -> bool {
        let just_removed = self.last_removed.is_some_and(|last| now.0 < last.0 + SETTLING);
        let listed = self.listed.values().map(|listed| listed.holder);
        let unplaced = self.unplaced.values().map(|claim| claim.holder);
        just_removed || listed.chain(unplaced).any(|holder| holder == IpuHolder::Leaving)
    }

    /// Whether any IPU counts as unusable because of refusals.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Suspects one IPU in each block that the partition of a claim could have, because the controller
    /// refuses it although its listing shows room.
    pub(crate) fn suspect(&mut self, now: Millis, serial: Serial) {
        let Some(Unlisted { size, ipus, .. }) = self.unplaced.get(&serial) else { return };
        let (size, chosen) = (*size, ipus.first().copied());
        match chosen {
            Some(place) => {
                place.number(self.domain()).into_iter().for_each(|ipu| self.suspects.add(now, ipu))
            }
            None => self.suspect_all_for(now, serial, size),
        }
        self.free_blocks = self.counted();
    }

    fn suspect_all_for(&mut self, now: Millis, serial: Serial, size: IpuCount) {
        // Faulty IPUs are taken to be the suspects, and the blocks in which they were assumed may then seem
        // free. The rounds are limited. A further refusal continues the search.
        for _ in 0..=self.hardware.faulty.min(MOST_ROUNDS) {
            let counts = |who: Occupant| !who.is_claim(serial) && !who.is_drain();
            let mut free = self.occupied(|who| counts(who).then_some(()), |(), _| {});
            while let Some(ipu) = free.first_for(size) {
                free.take_ipu(ipu);
                self.suspects.add(now, ipu);
            }
        }
    }

    /// IPUs in one IPU-Link domain.
    pub(crate) fn domain(&self) -> u32 {
        usable_domain(self.hardware.ipus, self.domain_size)
    }

    /// Visits all occupants of IPUs, known or assumed. `of` is called once for each and returns its name, or
    /// none if it does not count. `has` is called with that name for each run of its IPUs. Returns the free
    /// blocks that remain.
    pub(crate) fn occupied<T: Copy>(
        &self,
        of: impl Fn(Occupant) -> Option<T>,
        mut has: impl FnMut(T, Range<usize>),
    ) -> FreeBlocks {
        let (ipus, domain) = (self.hardware.ipus, self.domain());
        let listed = self.listed.values().map(|listed| (Occupant::Partition(listed.holder), &listed.places));
        let chosen =
            self.unplaced.iter().map(|(serial, claim)| (Occupant::Claim(*serial, claim.holder), &claim.ipus));
        let placed = listed.chain(chosen).filter(|(_, places)| !places.is_empty());
        let places = placed.filter_map(|(who, places)| Some((of(who)?, places)));
        let places = places.flat_map(|(it, places)| places.iter().map(move |place| (it, *place)));
        let places = places.map(|(it, place)| {
            if let Some(ipu) = place.number(domain).filter(|ipu| *ipu < ipus as usize) {
                has(it, ipu..ipu + 1);
            }
            place
        });
        let mut free_blocks = FreeBlocks::new(ipus, self.domain_size, places);
        for drained in &self.drained {
            let Some(it) = of(Occupant::Drained(drained.until)) else { continue };
            let drained = self.numbers(drained);
            for ipu in drained.clone() {
                free_blocks.take_ipu(ipu);
            }
            has(it, drained);
        }
        if let Some(nobody) = of(Occupant::Nobody) {
            self.take_unusable(&mut free_blocks, &mut |ipus| has(nobody, ipus));
        }
        for (serial, claim) in self.unplaced.iter().filter(|(_, claim)| claim.ipus.is_empty()) {
            if let Some(it) = of(Occupant::Claim(*serial, claim.holder)) {
                free_blocks.take(claim.size, &mut |ipus| has(it, ipus));
            }
        }
        free_blocks
    }

    /// Takes the IPUs without a holder that could release them. Faulty IPUs are taken to be the suspects, as
    /// far as there are enough.
    fn take_unusable(&self, free_blocks: &mut FreeBlocks, has: &mut impl FnMut(Range<usize>)) {
        let mut suspected = 0;
        for ipu in self.suspects.all() {
            if free_blocks.take_ipu(ipu) {
                has(ipu..ipu + 1);
                suspected += 1;
            }
        }
        // A partition without places has at least one IPU.
        let hidden = self.listed.values().filter(|listed| listed.places.is_empty()).count();
        let elsewhere = self.hardware.faulty.saturating_sub(suspected);
        free_blocks.take_each(elsewhere.saturating_add(hidden as u32), has);
    }
}
