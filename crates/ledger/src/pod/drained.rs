//! The drained IPUs of a Pod.

use std::collections::HashSet;
use std::ops::Range;

use super::Pod;
use crate::Claim;
use crate::drains::DrainedIpus;

impl Pod {
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
    pub(super) fn numbers(&self, drained: &DrainedIpus) -> Range<usize> {
        let ipus = self.hardware.ipus as usize;
        let Some(place) = drained.place else { return 0..ipus };
        place.number(self.domain()).filter(|ipu| *ipu < ipus).map_or(0..0, |ipu| ipu..ipu + 1)
    }
}
