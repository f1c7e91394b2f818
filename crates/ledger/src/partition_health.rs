//! The findings of listings about the partition of a claim: missing, unusable, or on other IPUs.

use std::time::Duration;

use vipu_types::{Place, Words};

use crate::{Millis, SeenPartition};

/// The findings about the partition of a running job, and the ones that were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionHealth {
    /// The time at which the first of the last listings without it was requested. One such listing is not
    /// believed.
    missing: Option<Millis>,
    /// The fault that was told last.
    told: Option<Words>,
    /// A fault was told at any time.
    was_faulty: bool,
    /// The places of its IPUs, sorted. Empty if no listing gave them.
    places: Vec<Place>,
    /// The number of IPUs in the listing of these places. Places in an allocation are numbered by its size,
    /// so they are compared only if this number is unchanged. An agent that comes or goes moves no partition.
    among: u32,
}

/// A finding about a partition that has to be told.
pub(crate) enum News {
    Broken(Words),
    Relocated,
}

const VANISHED: &str = "its controller does not know it any more";

/// The least time between two listings that have to agree that a partition is gone. A controller that was
/// just started may answer before it has loaded its data.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl PartitionHealth {
    /// Takes the entry of the partition in a listing.
    pub(crate) fn seen(&mut self, seen: Option<&SeenPartition>, listing: &Listing) -> Option<News> {
        let Some(SeenPartition { fault, places, .. }) = seen else {
            let since = *self.missing.get_or_insert(listing.asked);
            let is_long =
                u128::from(listing.asked.0.saturating_sub(since.0)) >= listing.look_again.as_millis();
            return if is_long { self.broken(VANISHED) } else { None };
        };
        let ipus = listing.ipus;
        self.missing = None;
        if let Some(words) = fault {
            if self.places.is_empty() {
                self.moved(places, ipus);
            }
            return self.broken(words);
        }
        self.told = None;
        self.moved(places, ipus).then_some(News::Relocated)
    }

    /// Whether the last listing had the partition, and none found a fault.
    pub(crate) fn is_good(&self) -> bool {
        self.missing.is_none() && !self.was_faulty
    }

    /// Whether the last listings had the partition.
    pub(crate) fn is_there(&self) -> bool {
        self.missing.is_none()
    }

    /// Forgets that listings lacked the partition.
    pub(crate) fn forget_missing(&mut self) {
        self.missing = None;
    }

    /// Whether its controller has no partition of this name any more.
    pub(crate) fn has_vanished(&self) -> bool {
        self.missing.is_some() && self.told.as_deref() == Some(VANISHED)
    }

    /// Returns the fault as news, once.
    fn broken(&mut self, words: &str) -> Option<News> {
        let is_known = self.told.as_deref() == Some(words);
        self.told = Some(words.into());
        self.was_faulty = true;
        (!is_known).then(|| News::Broken(words.into()))
    }

    fn moved(&mut self, places: &[Place], ipus: u32) -> bool {
        if places.is_empty() {
            return false;
        }
        let mut now = places.to_vec();
        now.sort_unstable();
        let before = std::mem::replace(&mut self.places, now);
        let is_comparable = std::mem::replace(&mut self.among, ipus) == ipus && !before.is_empty();
        is_comparable && before != self.places
    }
}

/// The facts about a listing as a whole.
pub(crate) struct Listing {
    pub(crate) asked: Millis,
    /// The number of IPUs in it.
    pub(crate) ipus: u32,
    /// The least time after which another listing can confirm that a partition is gone.
    pub(crate) look_again: Duration,
    /// The controller had not answered before, or was away. Partitions that it lacked then prove nothing.
    pub(crate) is_first: bool,
}
