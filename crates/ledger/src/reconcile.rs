//! The comparison of claims with a listing.
//!
//! A partition that is named like ours and has no claim is another cluster's, or was forgotten. The listing
//! does not tell which. A partition of a running job may be missing, unusable, or on other IPUs.

use std::collections::{HashMap, HashSet};
use vipu_types::{PartitionId, PodId};

use crate::claim::Serial;
use crate::lifecycle::Signal;
use crate::partition_health::{LOOK_AGAIN, Listing, News};
use crate::pod::Pod;
use crate::{Action, DriverAction, Ending, HostAction, Ledger, Millis, SeenPartition, Stale};

/// The findings of a listing, apart from the holders of IPUs.
pub(crate) struct Findings {
    listing: Listing,
    /// The entry of each partition that a running job has or that waits for its job.
    up: Vec<(Serial, Option<SeenPartition>)>,
    /// Partitions that are named like ours and have no claim.
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
        // A partition that is shown as removed is not usable any more.
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
        // The name is also explained by a claim on another controller, or of another model with this
        // controller.
        let is_unclaimed = |seen: &&SeenPartition| {
            !seen.leaving
                && seen.partition.job(prefix).is_some()
                && self.claims.holder(&seen.partition).is_none()
        };
        partitions.iter().filter(is_unclaimed).cloned().collect()
    }

    /// Whether a listing has none of the partitions although an earlier one had some. The controller may have
    /// lost its data, or not loaded it yet.
    fn has_lost_all(&self, findings: &Findings) -> bool {
        let was_there = |serial| self.claims.get(serial).is_some_and(|it| it.health.is_there());
        findings.up.iter().all(|(_, seen)| seen.is_none())
            && findings.up.iter().any(|(serial, _)| was_there(*serial))
    }

    /// Reports the news in the findings.
    pub(crate) fn reconcile(&mut self, now: Millis, id: &PodId, findings: Findings, todo: &mut Vec<Action>) {
        let is_anew = findings.listing.is_first || self.has_lost_all(&findings);
        for (serial, seen) in findings.up {
            let Some(record) = self.claims.get(serial) else { continue };
            let (is_early, is_kept) = (record.phase.is_early(), record.phase.is_kept());
            let is_idle = record.phase.is_idle();
            let Some((claim, health)) = self.claims.health(serial) else { continue };
            if is_anew {
                health.forget_missing();
            }
            match health.seen(seen.as_ref(), &findings.listing) {
                // A person who removes it on the controller ends its time. Other changes of a kept partition
                // do not matter.
                _ if is_kept && health.has_vanished() => {
                    self.signal(now, serial, Signal::KeepOver, todo);
                }
                Some(News::Broken(_)) if is_kept => {}
                Some(News::Broken(_)) if is_idle => self.signal(now, serial, Signal::IdleOver, todo),
                // Its files are written when it is given to a job.
                Some(News::Relocated) if is_idle => {}
                // No program has seen the partition yet, and another one may be made. After one that broke,
                // the job is not prepared for a while, so that partitions are not made in vain again and
                // again.
                Some(news @ (News::Broken(_) | News::Relocated)) if is_early => {
                    let partition = claim.partition.clone();
                    if matches!(news, News::Broken(_)) {
                        self.note_failure(now, &partition);
                    }
                    self.signal(now, serial, Signal::Ended(Ending::Unheld), todo);
                }
                Some(News::Broken(words)) => {
                    todo.push(Action::Host(HostAction::Broken(claim.clone(), words)))
                }
                Some(News::Relocated) => todo.extend([
                    Action::Driver(DriverAction::Refresh(claim.clone(), Stale::Moved)),
                    Action::Host(HostAction::TellRelocated(claim.clone())),
                ]),
                None => {}
            }
        }
        let Some(pod) = self.pods.get_mut(id) else { return };
        let told = std::mem::take(&mut pod.unclaimed);
        // A partition that was removed since the request is not in the kept listing.
        let there = findings.unclaimed.into_iter().filter(|seen| pod.listed().contains_key(&seen.partition));
        let there: Vec<_> = there.collect();
        pod.unclaimed = there.iter().map(|seen| seen.partition.clone()).collect::<HashSet<_>>();
        let new = there.into_iter().filter(|seen| !told.contains(&seen.partition));
        todo.extend(new.map(|seen| Action::Driver(DriverAction::Unclaimed { pod: id.clone(), seen })));
    }
}
