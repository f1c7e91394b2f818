//! The invariants of the ledger, as functions that report violations.
//!
//! The types guarantee some of them: a claim is in one phase, its gates fit the phase, and it waits for an
//! answer that comes. See [`crate::Phase`]. Checks that see the actions from outside compare
//! [`crate::Phase::awaits`] with the actions under way.

use std::collections::{BTreeMap, BTreeSet};

use vipu_types::{PartitionId, Place, PodId};

use crate::Ledger;
use crate::claim::Serial;
use crate::ipu_holders::IpuHolder;
use crate::pod::Pod;

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A controller lists one IPU in two partitions.
    #[error("{pod}: {place} is in partition {one} and in partition {other}")]
    TwoOwners {
        /// The Pod.
        pod: PodId,
        /// The IPU.
        place: Place,
        /// A partition, the first by name.
        one: PartitionId,
        /// Another partition.
        other: PartitionId,
    },
    /// The IPUs of claims and the free ones are more than all IPUs. The ledger does not cause this by itself.
    /// A Pod that shrinks causes it, or a job that begins although [`Ledger::fits_now`] said no.
    #[error("{pod}: {claimed} IPUs are claimed and {free} free, but {ipus} there are")]
    Overcommitted {
        /// The Pod.
        pod: PodId,
        /// IPUs of all claims.
        claimed: u64,
        /// IPUs free.
        free: u32,
        /// All IPUs of the controller.
        ipus: u32,
    },
    /// The free blocks are not those that follow from the listing and the claims.
    #[error("{pod}: {kept} IPUs are said to be free, {counted} are when counted anew")]
    StaleFreeBlocks {
        /// The Pod.
        pod: PodId,
        /// IPUs free, as kept.
        kept: u32,
        /// IPUs free, as counted.
        counted: u32,
    },
    /// The drained IPUs are not those of the drains.
    #[error("{pod}: it has other drained IPUs than the drains say")]
    StaleDrains {
        /// The Pod.
        pod: PodId,
    },
    /// A claim is missing from an index, or is in an index by mistake.
    #[error("{partition}: {what}")]
    BadIndex {
        /// The claim's partition.
        partition: PartitionId,
        /// The mistake.
        what: &'static str,
    },
    /// The kept counts of IPUs and claims are wrong.
    #[error("the claims are counted wrongly")]
    StaleCounts,
    /// An index has claims that do not exist any more.
    #[error("{entries} claims are indexed {by}, {claims} there are")]
    LostEntries {
        /// The index.
        by: &'static str,
        /// Claims in the index.
        entries: usize,
        /// Claims that should be in it.
        claims: usize,
    },
}

impl Ledger {
    /// Checks all invariants. Empty if they hold. Costs much more than any other question.
    pub fn violations(&self) -> Vec<Violation> {
        let all = [
            self.two_owners(),
            self.overcommitted(),
            self.stale_free_blocks(),
            self.stale_drains(),
            self.bad_index(),
            self.wrong_holders(),
            self.lost_entries(),
            self.stale_counts(),
        ];
        all.into_iter().flatten().collect()
    }

    fn two_owners(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for (id, pod) in &self.pods {
            let mut owners: BTreeMap<Place, &PartitionId> = BTreeMap::new();
            for (partition, listed) in pod.listed() {
                let places: BTreeSet<&Place> = listed.places.iter().collect();
                for place in places {
                    if let Some(owner) = owners.insert(*place, partition) {
                        let (one, other) = (owner.min(partition).clone(), owner.max(partition).clone());
                        found.push(Violation::TwoOwners { pod: id.clone(), place: *place, one, other });
                    }
                }
            }
        }
        found
    }

    fn overcommitted(&self) -> Vec<Violation> {
        let of_pod = |(id, pod): (&PodId, &Pod)| {
            let claimed =
                if pod.is_pool() { self.ipus_claimed_in_pool(pod) } else { self.claims.ipus_claimed(id) };
            let (free, ipus) = (pod.free_blocks().free(), pod.hardware().ipus);
            let is_too_much = ipus > 0 && claimed + u64::from(free) > u64::from(ipus);
            is_too_much.then(|| Violation::Overcommitted { pod: id.clone(), claimed, free, ipus })
        };
        self.pods.iter().filter_map(of_pod).collect()
    }

    /// The IPUs of claims in a pool. Claims of an earlier mode have others.
    fn ipus_claimed_in_pool(&self, pod: &Pod) -> u64 {
        let claims = self.claims.all().map(|(_, record)| record).filter(|record| !record.phase.is_idle());
        let claims = claims.filter(|record| pod.is_in_pool(&record.claim.partition));
        claims.map(|record| u64::from(record.claim.size.get())).sum()
    }

    fn stale_free_blocks(&self) -> Vec<Violation> {
        let of_pod = |(id, pod): (&PodId, &Pod)| {
            let (kept, counted) = (pod.free_blocks(), pod.counted());
            let (is_stale, pod) = (*kept != counted, id.clone());
            is_stale.then(|| Violation::StaleFreeBlocks { pod, kept: kept.free(), counted: counted.free() })
        };
        self.pods.iter().filter_map(of_pod).collect()
    }

    fn stale_drains(&self) -> Vec<Violation> {
        let stale = self.pods.iter().filter(|(id, pod)| pod.drained() != self.drains.of_pod(id));
        stale.map(|(id, _)| Violation::StaleDrains { pod: id.clone() }).collect()
    }

    fn bad_index(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for (serial, record) in self.claims.all() {
            let id = &record.claim.partition;
            let is_me = |entry: Option<(Serial, _)>| entry.is_some_and(|(other, _)| other == serial);
            let mut expect = |is: bool, should: bool, what| {
                if is != should {
                    found.push(Violation::BadIndex { partition: id.clone(), what });
                }
            };
            expect(is_me(self.claims.holder(id)), true, "has no id of its own");
            let live = record.phase.is_live();
            expect(is_me(self.claims.live(record.claim.run.job)), live, "is its job's run in one place only");
        }
        found
    }

    fn wrong_holders(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let what = "its IPUs are said to be somebody else's";
        for (id, pod) in &self.pods {
            let listed = pod.listed().iter();
            let listed = listed
                .filter(|(partition, it)| match self.claims.ipu_holder(id, partition) {
                    None if self.withheld.has(partition) => it.holder.is_free(),
                    None => !matches!(it.holder, IpuHolder::Unknown | IpuHolder::Leaving | IpuHolder::Unused),
                    Some(holder) => it.holder != holder,
                })
                .map(|(id, _)| id);
            let claims =
                pod.unplaced().iter().map(|(serial, it)| (*serial, self.claims.get(*serial), it.holder));
            let claims = claims.filter_map(|(serial, record, holder)| {
                let record = record.filter(|record| holder != record.ipu_holder(serial))?;
                Some(&record.claim.partition)
            });
            let wrong = listed.chain(claims).cloned();
            found.extend(wrong.map(|partition| Violation::BadIndex { partition, what }));
        }
        found
    }

    fn stale_counts(&self) -> Vec<Violation> {
        let is_stale = *self.claims.counts() != self.claims.counted();
        is_stale.then_some(Violation::StaleCounts).into_iter().collect()
    }

    fn lost_entries(&self) -> Vec<Violation> {
        let (by_id, by_job) = self.claims.indexed();
        let live = self.claims.all().filter(|(_, record)| record.phase.is_live()).count();
        let counts = [("by partition", by_id, self.claims.all().count()), ("by job", by_job, live)];
        let lost = counts.into_iter().filter(|(_, entries, claims)| entries != claims);
        lost.map(|(by, entries, claims)| Violation::LostEntries { by, entries, claims }).collect()
    }
}
