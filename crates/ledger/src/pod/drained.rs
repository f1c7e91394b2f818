//! The drained IPUs of a Pod.

use std::collections::HashSet;
use std::ops::Range;

use super::Pod;
use crate::Claim;
use crate::drains::{DrainedIpus, DrainedPart};

impl Pod {
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
        self.drained_and_free = match self.drained.is_empty() {
            true => 0,
            false => {
                let undrained =
                    self.occupied(|who| (!who.is_drain() && !who.is_free()).then_some(()), |(), _| {});
                undrained.free().saturating_sub(self.free_blocks.free())
            }
        };
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
    pub(super) fn numbers(&self, drained: &DrainedIpus) -> Range<usize> {
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
