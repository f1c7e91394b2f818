//! The state of the ledger, as plain data for people and for checks.

use vipu_types::{ControllerName, ModelName, PartitionId, PodId};

use crate::claim::Serial;
use crate::claim_record::Record;
use crate::pod::{Listed, Pod};
use crate::{Claim, Ledger, Millis, Phase, Wait};

/// The state of the ledger at one moment.
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
    /// Its name.
    pub model: ModelName,
    /// Its Pods, in the order in which they are tried.
    pub pods: Vec<PodView>,
    /// The reason why no job can start on it now, if there is one.
    pub trouble: Option<Wait>,
}

/// One Pod. IPUs are free, used by claims, used by others, or faulty. All numbers are 0 before the
/// controller's first answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Its controller.
    pub controller: ControllerName,
    /// All IPUs.
    pub ipus: u32,
    /// IPUs that no partition can use.
    pub faulty: u32,
    /// IPUs of claims, whether their partitions exist yet or not.
    pub claimed: u64,
    /// The number of partitions on the controller without a claim.
    pub foreign: usize,
    /// Partitions among these that are named like ours, by id. Each is another cluster's, or was forgotten.
    pub unclaimed: Vec<PartitionId>,
    /// Free IPUs.
    pub free: u32,
    /// The size of the largest partition that fits.
    pub largest_free: u32,
    /// The reason why no partition can be made on it now, if there is one.
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
}

impl ClaimView {
    pub(crate) fn of(serial: Serial, record: &Record) -> Self {
        Self {
            serial: serial.0,
            claim: record.claim.clone(),
            phase: record.phase.clone(),
            begun: record.begun,
            since: record.since,
        }
    }
}

impl Ledger {
    /// The state of the ledger.
    pub fn view(&self) -> View {
        View { models: self.models().collect(), claims: self.claims().collect() }
    }

    /// The models alone.
    pub fn models(&self) -> impl Iterator<Item = ModelView> {
        self.models.iter().map(|(name, model)| ModelView {
            model: name.clone(),
            pods: model.pods().iter().filter_map(|id| Some(self.pod(id, self.pods.get(id)?))).collect(),
            trouble: self.standstill(model),
        })
    }

    fn pod(&self, id: &PodId, pod: &Pod) -> PodView {
        let mut unclaimed: Vec<_> = pod.unclaimed.iter().cloned().collect();
        unclaimed.sort();
        let is_foreign =
            |partition: &_, listed: &Listed| !listed.holder.is_free() && !self.claims.holds(id, partition);
        PodView {
            unclaimed,
            controller: id.controller.clone(),
            ipus: pod.hardware().ipus,
            faulty: pod.hardware().faulty,
            claimed: self.claims.ipus_claimed(id),
            foreign: pod.listed().iter().filter(|(partition, it)| is_foreign(partition, it)).count(),
            free: pod.free_blocks().free(),
            largest_free: pod.free_blocks().largest(),
            trouble: pod.trouble(&id.model),
        }
    }

    fn claims(&self) -> impl Iterator<Item = ClaimView> {
        self.claims.all().map(|(serial, record)| ClaimView::of(serial, record))
    }
}
