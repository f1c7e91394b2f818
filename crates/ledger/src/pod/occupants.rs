//! The occupants of the IPUs of a Pod, and the room that they leave: partitions, claims, drained IPUs, and IPUs that must
//! be unusable because the controller refuses.

use std::collections::HashSet;
use std::ops::Range;

use vipu_types::IpuCount;

use super::{Hardware, Pod, Unlisted};
use crate::claim::Serial;
use crate::drains::{DrainedIpus, DrainedPart};
use crate::free_blocks::FreeBlocks;
use crate::ipu_holders::{IpuHolder, IpuHolders};
use crate::refusals::Suspects;
use crate::{Claim, Millis, Seconds};

/// The largest number of further searches for suspects after one refusal.
const MOST_ROUNDS: u32 = 8;

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

    /// Whether the IPUs are free all the same.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Self::Partition(holder) | Self::Claim(_, holder) if holder.is_free())
    }

    /// The claim of an idle partition.
    pub(crate) fn idle(&self) -> Option<Serial> {
        let (Self::Partition(holder) | Self::Claim(_, holder)) = self else { return None };
        holder.idle()
    }

    pub(crate) fn is_drain(&self) -> bool {
        matches!(self, Self::Drained(_))
    }
}

impl Pod {
    /// The present holders of the IPUs.
    pub(crate) fn ipu_holders(&self) -> IpuHolders {
        let mut held = Vec::new();
        let holder = |who: Occupant| match who {
            Occupant::Partition(holder) | Occupant::Claim(_, holder) => holder,
            Occupant::Drained(until) => IpuHolder::Drained(until),
            Occupant::Nobody => IpuHolder::Unknown,
        };
        let is_held = |who: Occupant| (!who.is_free()).then(|| holder(who));
        self.occupied(is_held, |holder, ipus| held.push((ipus, holder)));
        IpuHolders::new(self.hardware.ipus, self.layout.clone(), held)
    }

    /// The free blocks, counted anew.
    pub(crate) fn counted(&self) -> FreeBlocks {
        self.free_beside(|who| !who.is_free())
    }

    /// The blocks that are free beside the occupants that stay.
    fn free_beside(&self, stays: impl Fn(Occupant) -> bool) -> FreeBlocks {
        self.occupied(|who| stays(who).then_some(()), |(), _| {})
    }

    /// Whether a claim fits beside the other occupants that stay. None if the listing shows its partition.
    pub(crate) fn has_room(&self, serial: Serial, stays: impl Fn(Occupant) -> bool) -> Option<bool> {
        let claim = self.unplaced.get(&serial)?;
        // A drain is no reason to give up a create under way.
        let stays = |who: Occupant| !who.is_claim(serial) && !who.is_drain() && !who.is_free() && stays(who);
        if claim.ipus.is_empty() {
            return Some(self.free_beside(stays).first_for(claim.size).is_some());
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
        let mut free_blocks = FreeBlocks::new(ipus, &self.layout, places);
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
        let domain = self.domain();
        for ipu in self.broken.iter().filter_map(|place| place.number(domain)) {
            if free_blocks.take_ipu(ipu) {
                has(ipu..ipu + 1);
            }
        }
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

    /// Whether this IPU must be unusable, because the controller refuses.
    pub(crate) fn is_suspected(&self, ipu: usize) -> bool {
        self.suspects.all().any(|suspect| suspect == ipu)
    }

    /// Whether any IPU counts as unusable because of refusals.
    pub(crate) fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Suspects one IPU in each block that the partition of a claim could have, because the controller
    /// refuses it although its listing shows room.
    pub(crate) fn suspect(&mut self, now: Millis, serial: Serial) {
        let Some(Unlisted { size, ipus, .. }) = self.unplaced.get(&serial) else { return };
        match (*size, ipus.first().copied()) {
            (size, None) => self.suspect_all_for(now, serial, size),
            (_, Some(place)) => {
                place.number(self.domain()).into_iter().for_each(|ipu| self.suspects.add(now, ipu));
            }
        }
        self.recount();
    }

    fn suspect_all_for(&mut self, now: Millis, serial: Serial, size: IpuCount) {
        // Faulty IPUs are taken to be the suspects, and the blocks in which they were assumed may then seem
        // free. The rounds are limited. A further refusal continues the search.
        for _ in 0..=self.hardware.faulty.min(MOST_ROUNDS) {
            let mut free = self.free_beside(|who| !who.is_claim(serial) && !who.is_drain());
            while let Some(ipu) = free.first_for(size) {
                free.take_ipu(ipu);
                self.suspects.add(now, ipu);
            }
        }
    }

    /// Acquits the suspects that the new listing clears.
    pub(super) fn review_suspects(&mut self, asked: Millis, hardware: Hardware) {
        if hardware != self.hardware {
            self.suspects = Suspects::default();
        } else {
            let places = self.listed.values().flat_map(|listed| &listed.places);
            let in_use: HashSet<usize> = places.filter_map(|place| place.number(self.domain())).collect();
            self.suspects.review(asked, |ipu| in_use.contains(&ipu));
        }
    }

    /// Sets the IPUs on which nothing new starts.
    pub(crate) fn set_drained(&mut self, drained: Vec<DrainedIpus>) {
        if self.drained != drained {
            self.drained = drained;
            self.recount();
        }
    }

    pub(crate) fn drained(&self) -> &[DrainedIpus] {
        &self.drained
    }

    /// Whether an IPU of this claim is drained.
    pub(crate) fn drains_claim(&self, claim: &Claim) -> bool {
        let listed = self.listed.get(&claim.partition).map_or(&[][..], |listed| &listed.places);
        self.drained.iter().any(|drained| match &drained.part {
            DrainedPart::All => true,
            DrainedPart::Ipu(place) => {
                !self.is_pool() && (listed.contains(place) || claim.ipus.contains(place))
            }
            DrainedPart::Partition(partition) => *partition == claim.partition,
        })
    }

    /// Whether a drain covers the whole Pod.
    pub(crate) fn is_all_drained(&self) -> bool {
        self.drained.iter().any(|drained| drained.part == DrainedPart::All)
    }

    /// Counts the free IPUs anew.
    pub(super) fn recount(&mut self) {
        self.free_blocks = self.counted();
        self.drained_and_free = 0;
        if !self.drained.is_empty() {
            let undrained = self.free_beside(|who| !who.is_drain() && !who.is_free());
            self.drained_and_free = undrained.free().saturating_sub(self.free_blocks.free());
        }
    }

    /// The number of drained IPUs that would be free without the drains.
    pub(crate) fn drained_and_free(&self) -> u32 {
        self.drained_and_free
    }

    /// The number of drained IPUs.
    pub(crate) fn drained_ipus(&self) -> u32 {
        if self.is_all_drained() {
            return self.hardware.ipus;
        }
        let places: HashSet<_> = self.drained.iter().flat_map(|drained| self.numbers(drained)).collect();
        places.len() as u32
    }

    /// The numbers of drained IPUs.
    fn numbers(&self, drained: &DrainedIpus) -> Range<usize> {
        let ipus = self.hardware.ipus as usize;
        let found = match (&drained.part, &self.pool) {
            (DrainedPart::All, _) => Some(0..ipus),
            (DrainedPart::Ipu(place), None) => {
                place.number(self.domain()).filter(|ipu| *ipu < ipus).map(|ipu| ipu..ipu + 1)
            }
            (DrainedPart::Partition(partition), Some(pool)) => pool.ipus_of(partition),
            (DrainedPart::Ipu(_), Some(_)) | (DrainedPart::Partition(_), None) => None,
        };
        found.unwrap_or_default()
    }
}
