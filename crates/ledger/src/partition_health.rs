//! What listings say of the partition of a claim: missing, unusable or on other IPUs.

use std::time::Duration;

use vipu_types::Place;

use crate::{Millis, SeenPartition};

/// What was seen of the partition of a job that runs, and told.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionHealth {
    /// The first of the last listings that did not have it was asked for then. One alone is not believed.
    missing: Option<Millis>,
    /// What was told of it last.
    told: Option<String>,
    /// Where its IPUs are, sorted; empty when no listing said.
    places: Vec<Place>,
    /// Among how many IPUs those are. Places in an allocation are numbered by its size: an agent that comes
    /// or goes moves nothing.
    among: u32,
}

/// What has to be told of a partition.
pub(crate) enum News {
    Broken(String),
    Relocated,
}

const VANISHED: &str = "its controller does not know it any more";

/// The least time between two listings that have to agree that a partition is gone: a controller that was
/// just started may answer before it has loaded what it knows.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl PartitionHealth {
    /// Takes in what a listing has of the partition.
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

    /// Whether the last listings had it.
    pub(crate) fn is_there(&self) -> bool {
        self.missing.is_none()
    }

    /// Forgets that listings did not have it.
    pub(crate) fn forget_missing(&mut self) {
        self.missing = None;
    }

    /// Whether its controller has none of that name any more.
    pub(crate) fn has_vanished(&self) -> bool {
        self.missing.is_some() && self.told.as_deref() == Some(VANISHED)
    }

    /// Says so once.
    fn broken(&mut self, words: &str) -> Option<News> {
        let is_known = self.told.as_deref() == Some(words);
        self.told = Some(words.to_owned());
        (!is_known).then(|| News::Broken(words.to_owned()))
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

/// A listing, apart from what it lists.
pub(crate) struct Listing {
    pub(crate) asked: Millis,
    /// How many IPUs it lists.
    pub(crate) ipus: u32,
    /// How much later another one may confirm that a partition is gone.
    pub(crate) look_again: Duration,
    /// The controller had not answered before, or was away: what it did not have then says nothing.
    pub(crate) is_first: bool,
}
