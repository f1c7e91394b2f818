//! What a listing says of claims, and claims of a listing.
//!
//! A partition that is named as ours are and that no claim has is another cluster's, or was forgotten: the listing
//! does not tell which. A partition of a running job may be missing, unusable or elsewhere.

use std::collections::{HashMap, HashSet};

use vipu_types::{PartitionId, PodId};

use crate::claims::Serial;
use crate::lifecycle::Signal;
use crate::{Action, Ending, Ledger, Millis, Place, SeenPartition};

/// What was seen of the partition of a job that runs, and told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// The last listing did not have it. One alone is not believed.
    missing: bool,
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
    /// It was missing for the first time: another listing shall tell.
    LookAgain,
    Broken(String),
    Relocated,
}

const VANISHED: &str = "its controller does not know it any more";

impl Health {
    /// Takes in what a listing of so many IPUs has of the partition.
    fn seen(&mut self, seen: Option<&SeenPartition>, ipus: u32) -> Option<News> {
        let Some(SeenPartition { fault, places, .. }) = seen else {
            return match std::mem::replace(&mut self.missing, true) {
                false => Some(News::LookAgain),
                true => self.broken(VANISHED),
            };
        };
        self.missing = false;
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
        self.missing && self.told.as_deref() == Some(VANISHED)
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

/// What a listing says beyond who has which IPUs.
#[derive(Default)]
pub(crate) struct Findings {
    /// How many IPUs it lists.
    ipus: u32,
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
        let up = up.map(|(serial, it)| (serial, by_id.get(&it.claim.partition).copied().cloned()));
        Findings { ipus, up: up.collect(), unclaimed: self.unclaimed(id, partitions) }
    }

    fn unclaimed(&self, id: &PodId, partitions: &[SeenPartition]) -> Vec<SeenPartition> {
        let Some(model) = self.models.get(&id.model) else { return Vec::new() };
        let prefix = &model.facts().prefix;
        // A claim on another controller, or of another model that shares this one, explains the name as well.
        let is_unclaimed = |seen: &&SeenPartition| {
            seen.partition.run(prefix).is_some() && self.claims.holder(&seen.partition).is_none()
        };
        partitions.iter().filter(is_unclaimed).cloned().collect()
    }

    /// Tells what is new in the findings.
    pub(crate) fn reconcile(&mut self, now: Millis, id: &PodId, findings: Findings, todo: &mut Vec<Action>) {
        for (serial, seen) in findings.up {
            let Some(record) = self.claims.get(serial) else { continue };
            let (is_early, is_kept) = (record.phase.is_early(), record.phase.is_kept());
            let Some((claim, health)) = self.claims.health(serial) else { continue };
            match health.seen(seen.as_ref(), findings.ipus) {
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
                Some(News::LookAgain) => todo.push(Action::Survey(id.clone())),
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
