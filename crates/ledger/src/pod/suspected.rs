//! The IPUs of a Pod that must be unusable, because its controller refuses although its listing shows room.

use std::collections::HashSet;

use vipu_types::IpuCount;

use super::occupants::Occupant;
use super::{Hardware, Pod, Unlisted};
use crate::Millis;
use crate::claim::Serial;
use crate::suspects::Suspects;

/// The largest number of further searches for suspects after one refusal.
const MOST_ROUNDS: u32 = 8;

impl Pod {
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
        let (size, chosen) = (*size, ipus.first().copied());
        match chosen {
            Some(place) => {
                place.number(self.domain()).into_iter().for_each(|ipu| self.suspects.add(now, ipu))
            }
            None => self.suspect_all_for(now, serial, size),
        }
        self.recount();
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
}
