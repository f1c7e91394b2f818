//! The state of the ledger as plain data, for the status document and for checks.
//!
//! Slurm's callbacks wait while the ledger is locked. A copy of everything at once takes too long with thousands of
//! claims and waiting jobs. The status document therefore copies bounded parts, each under a lock of its own.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use vipu_types::{ModelName, PartitionId, Place, PodId, Words};

use crate::claim::Serial;
use crate::claim_record::Record;
use crate::ipu_holders::IpuHolder;
use crate::model::Model;
use crate::phase_stays::Stay;
use crate::pod::Pod;
use crate::pod::occupants::Occupant;
use crate::{
    Claim, Contact, InLine, Layout, Ledger, Millis, ModelFacts, Phase, PoolMember, PoolMemberState, Rank,
    Wait,
};

/// The models and claims of the ledger at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The models, by name.
    pub models: Vec<ModelView>,
    /// The claims, the oldest first.
    pub claims: Vec<ClaimView>,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelView {
    /// Its configuration.
    pub facts: ModelFacts,
    /// The reason why no job can start on it now, whatever its size.
    pub trouble: Option<Wait>,
    /// The largest number of IPUs that a job could get now.
    pub largest_now: u32,
    /// Its Pods, in the order in which they are tried.
    pub pods: Vec<PodView>,
}

/// One Pod, without the holders of its IPUs. All numbers are 0 before the controller's first answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Its name.
    pub id: PodId,
    /// The controller's answer to the last question.
    pub contact: Contact,
    /// The time since when the controller answers, or does not.
    pub contact_since: Millis,
    /// All IPUs.
    pub ipus: u32,
    /// IPUs that no partition can use.
    pub faulty: u32,
    /// The blocks of IPUs that partitions can have.
    pub layout: Layout,
    /// The partitions of its pool, in the order of the layout. Empty if it has none.
    pub pool: Vec<PoolMember>,
    /// The partitions that its pool should have and has not, with the reasons.
    pub missing: BTreeMap<PartitionId, Words>,
    /// IPUs that would be free without the drains.
    pub drained: u32,
    /// Free IPUs.
    pub free: u32,
    /// The size of the largest partition that fits.
    pub largest_free: u32,
    /// The reason why no partition can be made on it now.
    pub trouble: Option<Wait>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimView {
    /// Its age among all claims: later ones are greater.
    pub serial: u64,
    /// The claim.
    pub claim: Claim,
    /// Its phase.
    pub phase: Phase,
    /// The time at which the ledger was told of it.
    pub begun: Millis,
    /// The time at which it came into its phase.
    pub since: Millis,
    /// The places of its IPUs in the controller's last listing. Empty if the listing does not show the partition.
    pub places: Vec<Place>,
}

/// The part of a Pod that a holder has, if the listing shows no partition of a claim there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The holder.
    pub by: Holder,
    /// The places of its IPUs.
    pub places: Vec<Place>,
}

/// The holder of IPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A partition of the controller's last listing that no claim has.
    Foreign {
        /// Its id.
        partition: PartitionId,
        /// Whether it is being removed.
        leaving: bool,
    },
    /// A partition of a pool that no claim has, and that no job can get now.
    OutOfUse {
        /// Its id.
        partition: PartitionId,
        /// Whether it is being reset.
        leaving: bool,
    },
    /// The claim with this [`ClaimView::serial`], which no listing shows yet. Its places are assumed unless
    /// they were chosen.
    Claim(u64),
    /// No partition: the IPUs are suspected, because the controller refuses without an apparent reason.
    Suspected,
    /// No partition: the IPUs are faulty. Their places are assumed.
    Faulty,
}

impl Ledger {
    /// All models and claims. The cost grows with the number of claims.
    pub fn view(&self) -> View {
        View { models: self.models(), claims: self.claims_after(None, usize::MAX) }
    }

    /// A number that is another one after each change of claims, Pods and the line.
    pub fn revision(&self) -> (u64, u64) {
        (self.events, self.line.changes())
    }

    /// The stays of claims in phases that have ended since the last call, as far as they are kept.
    pub fn take_stays(&mut self) -> VecDeque<Stay> {
        self.claims.take_stays()
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The models, by name.
    pub fn models(&self) -> Vec<ModelView> {
        let pods = |model: &Model| model.pods().iter().filter_map(|id| self.pod_view(id)).collect();
        let view = |(name, model): (&ModelName, &Model)| ModelView {
            facts: model.facts().clone(),
            trouble: self.standstill(model),
            largest_now: self.largest_now(name),
            pods: pods(model),
        };
        self.models.iter().map(view).collect()
    }

    fn pod_view(&self, id: &PodId) -> Option<PodView> {
        let pod = self.pods.get(id)?;
        let (contact, contact_since) = pod.contact();
        Some(PodView {
            id: id.clone(),
            contact: contact.clone(),
            contact_since,
            ipus: pod.hardware().ipus,
            faulty: pod.hardware().faulty,
            layout: pod.layout().clone(),
            pool: self.pool_members(id),
            missing: pod.missing_in_pool(),
            drained: pod.drained_and_free(),
            free: pod.free_blocks().free(),
            largest_free: pod.free_blocks().largest(),
            trouble: pod.trouble(&id.model),
        })
    }

    /// The holders of the IPUs of a Pod beside the partitions of claims that the listing shows. Empty for an
    /// unknown Pod.
    pub fn held(&self, id: &PodId) -> Vec<Held> {
        let Some(pod) = self.pods.get(id) else { return Vec::new() };
        // A look at the holder is cheaper than a look-up of the claim.
        let may_be_foreign = |holder| matches!(holder, IpuHolder::Unknown | IpuHolder::Leaving);
        let foreign = pod.listed().iter().filter(|(_, listed)| may_be_foreign(listed.holder));
        let foreign = foreign.filter(|(partition, _)| !self.claims.holds(id, partition));
        let foreign = foreign.map(|(id, listed)| {
            let partition = id.clone();
            let by = match pod.in_pool(id) {
                Some(it) => {
                    let state = pod.state_without_claim(it, self.is_withheld(id));
                    let leaving = state == PoolMemberState::Returning;
                    Holder::OutOfUse { partition, leaving }
                }
                None => Holder::Foreign { partition, leaving: listed.holder == IpuHolder::Leaving },
            };
            Held { by, places: listed.places.clone() }
        });
        foreign.chain(unlisted(pod)).collect()
    }

    /// The IPUs that the jobs of a Slurm partition have of a model.
    pub fn ipus_in_slurm_partition(&self, model: &ModelName, slurm_partition: &str) -> u64 {
        self.claims.counts().in_slurm_partition(model, slurm_partition)
    }

    /// The claim that has a partition of a Pod.
    pub fn claim_of(&self, pod: &PodId, partition: &PartitionId) -> Option<ClaimView> {
        let (serial, record) = self.claims.holder(partition)?;
        (record.claim.pod() == *pod).then(|| self.claim_view(serial, record))
    }

    /// The next `most` claims after the one with this [`ClaimView::serial`], the oldest first.
    pub fn claims_after(&self, serial: Option<u64>, most: usize) -> Vec<ClaimView> {
        let next = self.claims.after(serial.map(Serial)).take(most);
        next.map(|(serial, record)| self.claim_view(serial, record)).collect()
    }

    fn claim_view(&self, serial: Serial, record: &Record) -> ClaimView {
        let Record { claim, phase, begun, since, .. } = record;
        let listed = self.pods.get(&claim.pod()).and_then(|pod| pod.listed().get(&claim.partition));
        let places = listed.map(|listed| listed.places.clone()).unwrap_or_default();
        let (claim, phase) = (claim.clone(), phase.clone());
        ClaimView { serial: serial.0, claim, phase, begun: *begun, since: *since, places }
    }

    /// The next `most` jobs in line for a model behind this rank, the first in line first.
    pub fn line_behind(&self, model: &ModelName, rank: Option<Rank>, most: usize) -> Vec<InLine> {
        let behind = rank.map_or(Bound::Unbounded, Bound::Excluded);
        self.line.behind_rank(model, behind).take(most).map(|plan| self.line.in_line(plan)).collect()
    }
}

/// The IPUs of claims that no listing shows, and the unusable ones.
fn unlisted(pod: &Pod) -> Vec<Held> {
    if pod.lists_everything() {
        return Vec::new();
    }
    let domain = pod.domain().max(1);
    let place = |ipu: usize| {
        let ipu = u32::try_from(ipu).unwrap_or(u32::MAX);
        Place { domain: ipu / domain, index: ipu % domain }
    };
    let mut all: Vec<Held> = Vec::new();
    // Places are assumed beside drained IPUs, as in the free blocks, unless all IPUs are drained.
    let all_drained = pod.is_all_drained();
    let counts = |who: Occupant| (!all_drained || !who.is_drain()).then_some(who);
    pod.occupied(counts, |who, ipus| {
        let by = match who {
            Occupant::Partition(_) | Occupant::Drained(_) => return,
            Occupant::Claim(serial, _) => Holder::Claim(serial.0),
            Occupant::Nobody if pod.is_suspected(ipus.start) => Holder::Suspected,
            Occupant::Nobody => Holder::Faulty,
        };
        match all.last_mut().filter(|last| last.by == by) {
            Some(last) => last.places.extend(ipus.map(place)),
            None => all.push(Held { by, places: ipus.map(place).collect() }),
        }
    });
    all
}
