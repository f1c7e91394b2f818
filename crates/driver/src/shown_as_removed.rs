//! Partitions that a controller shows as removed (PS_REMOVED).
//!
//! The partition counts as being removed until the controller says that there is none, or its listing lacks
//! it. Until then its name is taken and its IPUs are in use. A controller that shows it for ever must not
//! block jobs, so after a while the partition counts as gone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::time::Duration;

use tokio::time::Instant;
use vipu_types::PartitionId;

use crate::{Listing, PartitionState};

/// The time for which a partition that is shown as removed counts as not gone yet.
const LONGEST: Duration = Duration::from_secs(60);

/// The partitions that one controller shows as removed.
#[derive(Default)]
pub(crate) struct ShownAsRemoved(RefCell<BTreeMap<PartitionId, FirstSeen>>);

struct FirstSeen {
    /// The time at which it was first seen as removed.
    since: Instant,
    /// Whether administrators were told that it counts as gone.
    is_told: bool,
}

impl ShownAsRemoved {
    /// The state of a partition, with a partition that counts as gone reported as absent.
    pub fn judge(
        &self,
        controller: &impl Display,
        partition: &PartitionId,
        state: PartitionState,
    ) -> PartitionState {
        if state != PartitionState::Removed {
            self.0.borrow_mut().remove(partition);
            return state;
        }
        if !self.is_over(partition) {
            return PartitionState::Removed;
        }
        self.tell(controller, [partition]);
        PartitionState::Absent
    }

    /// Takes partitions that count as gone out of a listing. A partition that is neither in the listing nor
    /// one of `ours` is forgotten.
    pub fn judge_all(
        &self,
        controller: &impl Display,
        listing: &mut Listing,
        ours: impl Fn(&PartitionId) -> bool,
    ) {
        let shown: HashMap<_, _> =
            listing.partitions.iter().map(|seen| (&seen.partition, seen.leaving)).collect();
        let is_known = |it: &PartitionId| shown.get(it).copied().unwrap_or_else(|| ours(it));
        self.0.borrow_mut().retain(|partition, _| is_known(partition));
        let is_gone = |it: &ledger::SeenPartition| it.leaving && self.is_over(&it.partition);
        let (gone, there): (Vec<_>, Vec<_>) =
            std::mem::take(&mut listing.partitions).into_iter().partition(is_gone);
        self.tell(controller, gone.iter().map(|seen| &seen.partition));
        listing.partitions = there;
        leave_to_others(listing);
    }

    fn is_over(&self, partition: &PartitionId) -> bool {
        let mut shown = self.0.borrow_mut();
        let new = || FirstSeen { since: Instant::now(), is_told: false };
        shown.entry(partition.clone()).or_insert_with(new).since.elapsed() >= LONGEST
    }

    /// Logs partitions that count as gone from now on, in one line, because a controller may show thousands.
    fn tell<'a>(&self, controller: &impl Display, gone: impl IntoIterator<Item = &'a PartitionId>) {
        let mut shown = self.0.borrow_mut();
        let mut is_news = |partition: &&PartitionId| {
            shown.get_mut(*partition).is_some_and(|it| !std::mem::replace(&mut it.is_told, true))
        };
        let mut news = gone.into_iter().filter(&mut is_news);
        let Some(partition) = news.next() else { return };
        let more = match news.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        tracing::warn!(
            "controller {controller}: partition {partition}{more} has been shown as removed (PS_REMOVED) for {} s and counts as \
             gone from now on. If its name or its IPUs are refused to jobs, remove it there with `vipu remove partition \
             {partition} --force`, or restart the controller",
            LONGEST.as_secs(),
        );
    }
}

/// Counts each IPU once. A controller may give IPUs to others while the partition that had them is still
/// listed.
fn leave_to_others(listing: &mut Listing) {
    let stays = listing.partitions.iter().filter(|seen| !seen.leaving);
    let mut taken: BTreeSet<_> = stays.flat_map(|seen| seen.places.iter().copied()).collect();
    listing.partitions.retain_mut(|seen| {
        if !seen.leaving || seen.places.is_empty() {
            return true;
        }
        seen.places.retain(|place| taken.insert(*place));
        !seen.places.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use ledger::{Place, SeenPartition};
    use tokio::time::advance;

    use super::*;

    fn id(name: &str) -> PartitionId {
        PartitionId::new(name).unwrap()
    }

    fn seen(name: &str, leaving: bool, indexes: std::ops::Range<u32>) -> SeenPartition {
        let places = indexes.map(|index| Place { domain: 0, index }).collect();
        SeenPartition { partition: id(name), places, fault: None, leaving }
    }

    /// The partitions left of a listing, each with its number of IPUs.
    fn left(shown: &ShownAsRemoved, partitions: Vec<SeenPartition>) -> Vec<(String, usize)> {
        let mut listing = Listing { ipus: 64, partitions, ..Listing::default() };
        shown.judge_all(&"vipu:8090", &mut listing, |partition| *partition == id("ours"));
        listing.partitions.iter().map(|seen| (seen.partition.to_string(), seen.places.len())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_partition_shown_as_removed_for_long_counts_as_gone() {
        let shown = ShownAsRemoved::default();
        let state = || shown.judge(&"vipu:8090", &id("p"), PartitionState::Removed);
        let listed = || left(&shown, vec![seen("p", true, 0..4), seen("q", false, 4..8)]);
        let [p, q] = ["p", "q"].map(|name| (name.to_owned(), 4));
        assert_eq!((state(), listed()), (PartitionState::Removed, vec![p.clone(), q.clone()]));
        advance(LONGEST - Duration::from_millis(1)).await;
        assert_eq!((state(), listed()), (PartitionState::Removed, vec![p, q.clone()]));
        advance(Duration::from_millis(1)).await;
        assert_eq!((state(), listed()), (PartitionState::Absent, vec![q]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_partition_of_the_name_has_its_own_time() {
        let shown = ShownAsRemoved::default();
        for seen_between in [vec![seen("p", false, 0..4)], vec![]] {
            assert_eq!(left(&shown, vec![seen("p", true, 0..4)]).len(), 1);
            advance(LONGEST).await;
            left(&shown, seen_between);
        }
        assert_eq!(left(&shown, vec![seen("p", true, 0..4)]).len(), 1);
        assert!(shown.0.borrow().len() == 1);
    }

    /// A listing may be of one allocation only. For partitions of ours in another allocation, a status call
    /// decides.
    #[tokio::test(start_paused = true)]
    async fn a_partition_of_ours_outside_the_listing_is_not_gone() {
        let shown = ShownAsRemoved::default();
        let state = || shown.judge(&"vipu:8090", &id("ours"), PartitionState::Removed);
        assert_eq!(state(), PartitionState::Removed);
        left(&shown, vec![]);
        advance(LONGEST).await;
        assert_eq!(state(), PartitionState::Absent);
    }

    #[tokio::test(start_paused = true)]
    async fn ipus_of_two_partitions_count_once() {
        let partitions = vec![
            seen("older", true, 0..4),
            seen("old", true, 2..8),
            seen("new", false, 4..16),
            seen("under", true, 6..8),
        ];
        let expected = [("older", 4), ("new", 12)].map(|(name, ipus)| (name.to_owned(), ipus));
        assert_eq!(left(&ShownAsRemoved::default(), partitions), expected);
    }
}
