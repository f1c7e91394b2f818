//! What the ledger knows, as plain data for people and for checks.

use vipu_types::{ControllerName, ModelName, PartitionId, PodId};

use crate::pod::Pod;
use crate::{Claim, Ledger, Millis, Phase, Wait};

/// Everything the ledger knows, at one moment.
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
    /// Why no job can start on it now, if so.
    pub trouble: Option<Wait>,
}

/// One Pod. IPUs are free, used by claims, used by others, or faulty; before the controller
/// answered for the first time all are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Its controller.
    pub controller: ControllerName,
    /// All IPUs.
    pub ipus: u32,
    /// IPUs that no partition can use.
    pub faulty: u32,
    /// IPUs of claims, whether their partitions are there yet or not.
    pub claimed: u64,
    /// Partitions on the controller that no claim is for.
    pub foreign: usize,
    /// Those of them that are named as ours are, by id: another cluster's, or forgotten.
    pub unclaimed: Vec<PartitionId>,
    /// IPUs free.
    pub free: u32,
    /// The size of the largest partition that fits.
    pub largest_free: u32,
    /// Why no partition can be made on it now, if so.
    pub trouble: Option<Wait>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimView {
    /// The claim.
    pub claim: Claim,
    /// How far it has come.
    pub phase: Phase,
    /// When the ledger was told of it.
    pub begun: Millis,
    /// When it came into its phase.
    pub since: Millis,
}

impl Ledger {
    /// Everything the ledger knows.
    #[must_use]
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
        PodView {
            unclaimed,
            controller: id.controller.clone(),
            ipus: pod.hardware().ipus,
            faulty: pod.hardware().faulty,
            claimed: self.claims.ipus_claimed(id),
            foreign: pod.listed().keys().filter(|partition| !self.claims.holds(id, partition)).count(),
            free: pod.free_blocks().free(),
            largest_free: pod.free_blocks().largest(),
            trouble: pod.trouble(&id.model),
        }
    }

    fn claims(&self) -> impl Iterator<Item = ClaimView> {
        self.claims.all().map(|(_, record)| ClaimView {
            claim: record.claim.clone(),
            phase: record.phase.clone(),
            begun: record.begun,
            since: record.since,
        })
    }
}
