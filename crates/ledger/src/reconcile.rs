//! What a listing says of claims, and claims of a listing.
//!
//! A partition that is named as ours are and that no claim has is another cluster's, or was forgotten: the listing
//! does not tell which. A partition of a running job may be missing, unusable or elsewhere.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use vipu_types::{PartitionId, PodId};

use crate::claims::Serial;
use crate::lifecycle::Signal;
use crate::pod::Pod;
use crate::{Action, Ending, Ledger, Millis, Place, SeenPartition};

/// What was seen of the partition of a job that runs, and told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// The first of the last listings that did not have it was asked for then. One alone is not believed.
    missing: Option<Millis>,
    /// What was told of it last.
    told: Option<String>,
    /// Where its IPUs are, sorted; empty when no listing said.
    places: Vec<Place>,
    /// Among how many IPUs those are. Places in an allocation are numbered by its size: an agent that comes or goes moves
    /// nothing.
    among: u32,
}

/// What has to be told of a partition.
enum News {
    Broken(String),
    Relocated,
}

const VANISHED: &str = "its controller does not know it any more";

/// The least time between two listings that have to agree that a partition is gone: a controller that was just started may
/// answer before it has loaded what it knows.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

impl Health {
    /// Takes in what a listing has of the partition.
    fn seen(&mut self, seen: Option<&SeenPartition>, listing: &Listing) -> Option<News> {
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

    /// Whether its controller has none of that name any more.
    fn has_vanished(&self) -> bool {
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
struct Listing {
    asked: Millis,
    /// How many IPUs it lists.
    ipus: u32,
    /// How much later another one may confirm that a partition is gone.
    look_again: Duration,
    /// The controller had not answered before, or was away: what it did not have then says nothing.
    is_first: bool,
}

/// What a listing says beyond who has which IPUs.
pub(crate) struct Findings {
    listing: Listing,
    /// Of each partition that a running job has, or that waits for its job, what the listing has of it.
    up: Vec<(Serial, Option<SeenPartition>)>,
    /// Partitions named as ours that no claim has.
    unclaimed: Vec<SeenPartition>,
}

impl Ledger {
    /// Compares claims with a listing asked for at `asked`.
    pub(crate) fn compare(
        &self,
        id: &PodId,
        asked: Millis,
        ipus: u32,
        partitions: &[SeenPartition],
    ) -> Findings {
        let by_id: HashMap<&PartitionId, &SeenPartition> =
            partitions.iter().map(|seen| (&seen.partition, seen)).collect();
        let up = self.claims.of_pod(id).filter(|(_, it)| it.phase.is_up() && it.since < asked);
        // One that is shown as removed is of no use any more.
        let seen = |partition| by_id.get(partition).filter(|seen| !seen.leaving).copied().cloned();
        let up = up.map(|(serial, it)| (serial, seen(&it.claim.partition)));
        let interval = self.models.get(&id.model).map(|model| model.facts().reconcile_interval);
        let look_again = interval.unwrap_or_default().max(LOOK_AGAIN);
        let is_first = !self.pods.get(id).is_some_and(Pod::is_reached);
        let listing = Listing { asked, ipus, look_again, is_first };
        Findings { listing, up: up.collect(), unclaimed: self.unclaimed(id, partitions) }
    }

    fn unclaimed(&self, id: &PodId, partitions: &[SeenPartition]) -> Vec<SeenPartition> {
        let Some(model) = self.models.get(&id.model) else { return Vec::new() };
        let prefix = &model.facts().prefix;
        // A claim on another controller, or of another model that shares this one, explains the name as well.
        let is_unclaimed = |seen: &&SeenPartition| {
            !seen.leaving
                && seen.partition.job(prefix).is_some()
                && self.claims.holder(&seen.partition).is_none()
        };
        partitions.iter().filter(is_unclaimed).cloned().collect()
    }

    /// Whether a listing has none of the partitions though one before had some: the controller may have lost what it knew,
    /// or have it not yet.
    fn has_lost_all(&self, findings: &Findings) -> bool {
        let was_there = |serial| self.claims.get(serial).is_some_and(|it| it.health.missing.is_none());
        findings.up.iter().all(|(_, seen)| seen.is_none())
            && findings.up.iter().any(|(serial, _)| was_there(*serial))
    }

    /// Tells what is new in the findings.
    pub(crate) fn reconcile(&mut self, now: Millis, id: &PodId, findings: Findings, todo: &mut Vec<Action>) {
        let is_anew = findings.listing.is_first || self.has_lost_all(&findings);
        for (serial, seen) in findings.up {
            let Some(record) = self.claims.get(serial) else { continue };
            let (is_early, is_kept) = (record.phase.is_early(), record.phase.is_kept());
            let Some((claim, health)) = self.claims.health(serial) else { continue };
            if is_anew {
                health.missing = None;
            }
            match health.seen(seen.as_ref(), &findings.listing) {
                // Who removes it on the controller wants it to stay no longer; what else happens to it, nobody minds.
                _ if is_kept && health.has_vanished() => {
                    self.signal(now, serial, Signal::KeepOver, todo);
                }
                Some(News::Broken(_)) if is_kept => {}
                // No program has seen it yet: another one is made. One that broke is not made for nothing again and again.
                Some(news @ (News::Broken(_) | News::Relocated)) if is_early => {
                    let partition = claim.partition.clone();
                    if matches!(news, News::Broken(_)) {
                        self.note_failure(now, &partition);
                    }
                    self.signal(now, serial, Signal::Ended(Ending::Unheld), todo);
                }
                Some(News::Broken(words)) => todo.push(Action::Broken(claim.clone(), words)),
                Some(News::Relocated) => todo.push(Action::Relocated(claim.clone())),
                None => {}
            }
        }
        let Some(pod) = self.pods.get_mut(id) else { return };
        let told = std::mem::take(&mut pod.unclaimed);
        // What was removed since the listing was asked for is not in it any more.
        let there = findings.unclaimed.into_iter().filter(|seen| pod.listed().contains_key(&seen.partition));
        let there: Vec<_> = there.collect();
        pod.unclaimed = there.iter().map(|seen| seen.partition.clone()).collect::<HashSet<_>>();
        let new = there.into_iter().filter(|seen| !told.contains(&seen.partition));
        todo.extend(new.map(|seen| Action::Unclaimed { pod: id.clone(), seen }));
    }
}
