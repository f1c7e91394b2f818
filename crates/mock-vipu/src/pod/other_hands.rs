//! A controller by other hands: behaviour that the interface allows and this mock otherwise never shows.
//!
//! A create or remove is answered before it takes effect. A partition that was ACTIVE is shown as PENDING. A
//! partition that is gone is shown as REMOVED for a while, and its name cannot be used. Listings are empty,
//! as after a restart, or lack partitions that a single query shows.

use std::collections::BTreeMap;
use std::time::Duration;

use vipu_client::wire::{Partition as WirePartition, PartitionReadyState};

use super::Nanos;
use super::partition::State;

/// The longest time between the answer to a create or remove and its effect.
pub(crate) const LATEST_EFFECT: Duration = Duration::from_millis(500);

/// The longest time for which a partition that is gone is shown and its name kept.
const LONGEST_SHOWN: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct OtherHands {
    random: u64,
    /// New partitions, and the time until which they are hidden.
    hidden: BTreeMap<String, Nanos>,
    /// Partitions that are gone, as listings show them, and the time until which they do.
    removed: BTreeMap<String, (Nanos, WirePartition)>,
}

impl OtherHands {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: seed, hidden: BTreeMap::new(), removed: BTreeMap::new() }
    }

    /// Returns the next number of the generator SplitMix64, below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random time shorter than `most`.
    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(f64::from(u32::try_from(self.below(1000)).unwrap_or(0)) / 1000.0)
    }

    /// Hides a new partition for a while.
    pub(crate) fn hide(&mut self, id: &str, now: Nanos) {
        let until = now + self.up_to(LATEST_EFFECT);
        self.hidden.insert(id.to_owned(), until);
    }

    /// Shows a partition that is gone for a while longer.
    pub(crate) fn show_removed(&mut self, mut partition: WirePartition, now: Nanos) {
        partition.ready_state = PartitionReadyState::PsRemoved.into();
        let until = now + self.up_to(LONGEST_SHOWN);
        self.removed.insert(partition.id.clone(), (until, partition));
    }

    /// Returns whether the name of a partition that is gone cannot be used yet.
    pub(crate) fn keep_name(&self, id: &str, now: Nanos) -> bool {
        self.removed.get(id).is_some_and(|(until, _)| now < *until)
    }

    fn hides(&self, id: &str, now: Nanos) -> bool {
        self.hidden.get(id).is_some_and(|until| now < *until)
    }

    /// Returns the state that a query for one partition shows.
    pub(crate) fn shown(&mut self, id: &str, state: Option<State>, now: Nanos) -> Option<State> {
        match state {
            Some(_) if self.hides(id, now) => None,
            Some(State::Active) if self.chance(30) => Some(State::Creating),
            None if self.keep_name(id, now) && self.chance(50) => Some(State::Removed),
            state => state,
        }
    }

    /// Changes a listing, which then need not agree with queries for one partition.
    pub(crate) fn change_listing(&mut self, listed: &mut Vec<WirePartition>, now: Nanos) {
        listed.retain(|partition| !self.hides(&partition.id, now));
        let removed = self.removed.values().filter(|(until, _)| now < *until);
        listed.extend(removed.map(|(_, partition)| partition.clone()));
        if self.chance(10) {
            listed.clear();
        }
        if !listed.is_empty() && self.chance(30) {
            let lacking = self.below(listed.len() as u64);
            listed.remove(usize::try_from(lacking).unwrap_or_default());
        }
    }
}
