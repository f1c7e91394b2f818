//! The Pod models of this cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ledger::{ModelFacts, Placement};
use vipu_conf::{OnPartitionError, Settings, SizePolicy};
use vipu_types::{ControllerName, Grant, IpuCount, ModelName, PartitionId};

use crate::request::Resolved;

/// One model, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The largest partition of a job, in IPUs.
    pub largest: u32,
    /// What its file says; `None` while it never had a good one, and so no job.
    pub settings: Option<Settings>,
}

/// All models, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models(pub BTreeMap<ModelName, Model>);

/// What a site does for the failed jobs of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureLimits {
    /// How long a partition stays at most (MaxKeep); zero: not at all.
    pub(crate) keep: Duration,
    /// How often a job may have been requeued that goes back into the queue (MaxRequeues).
    pub(crate) requeues: u32,
}

impl Model {
    /// A model of which only the limit matters.
    #[cfg(test)]
    pub(crate) fn of_size(largest: u32) -> Self {
        Self { largest, settings: None }
    }

    /// IPUs in one IPU-Link domain; more than there are while it has no settings, and so no job.
    pub(crate) fn link_domain(&self) -> IpuCount {
        self.settings.as_ref().map_or(IpuCount::LARGEST, |own| own.link_domain_size)
    }

    /// Whether a number of IPUs that no partition has is rounded up.
    pub(crate) fn rounds_up(&self) -> bool {
        self.settings.as_ref().is_some_and(|own| own.size_policy == SizePolicy::RoundUp)
    }

    /// Its controllers, in the order in which they are tried.
    fn controllers(&self) -> &[ControllerName] {
        self.settings.as_ref().map_or(&[], |own| &own.controllers)
    }

    /// As the ledger wants it.
    pub fn facts(&self, name: &ModelName, trouble: Option<String>) -> ModelFacts {
        ModelFacts {
            model: name.clone(),
            controllers: self.controllers().to_vec(),
            domain_size: self.settings.as_ref().map_or(IpuCount::ONE, |own| own.link_domain_size),
            prefix: self.settings.as_ref().map(|own| own.partition_prefix.clone()).unwrap_or_default(),
            placement: match self.settings.as_ref().map(|own| own.placement) {
                Some(vipu_conf::Placement::Explicit) => Placement::Explicit,
                Some(vipu_conf::Placement::Controller) | None => Placement::Controller,
            },
            reconcile_interval: self.settings.as_ref().map(|own| own.reconcile_interval).unwrap_or_default(),
            largest: self.largest,
            trouble,
        }
    }
}

impl Models {
    /// The settings in force of a model.
    fn settings(&self, model: &ModelName) -> Option<&Settings> {
        self.0.get(model)?.settings.as_ref()
    }

    /// What a job with so many nodes is given for a request that was resolved: this partition, on this controller.
    pub(crate) fn grant(
        &self,
        partition: PartitionId,
        nodes: u32,
        wanted: Resolved,
        controller: ControllerName,
    ) -> Option<Grant> {
        let Resolved { model, size, shape } = wanted;
        let settings = self.settings(&model)?;
        let shape = shape.by_site(settings.use_reconfig_partition);
        let gcds = shape.settled(size, settings.link_domain_size, nodes).gcds;
        let delivery = settings.delivery;
        Some(Grant { partition, model, size, gcds, controller: Some(controller), delivery })
    }

    /// The controller that is tried first, as long as the model has settings.
    pub fn first_controller(&self, model: &ModelName) -> Option<ControllerName> {
        self.0.get(model)?.controllers().first().cloned()
    }

    /// Where the files of its partitions go.
    pub fn ipuof_dir(&self, model: &ModelName) -> Option<PathBuf> {
        self.settings(model)?.ipuof_dir.clone()
    }

    /// How many IPUs of this model the jobs of a Slurm partition may have together, if that is limited.
    pub(crate) fn limit_of(&self, model: &ModelName, slurm_partition: &str) -> Option<u32> {
        let settings = self.settings(model)?;
        settings.ipus_per_slurm_partition.get(slurm_partition).copied()
    }

    /// Whether the partition of a job is made before the job has nodes.
    pub(crate) fn prepares(&self, model: &ModelName, is_batch: bool) -> bool {
        let settings = self.settings(model);
        settings.is_some_and(|settings| settings.prepare.is_for(is_batch))
    }

    /// How long such a partition waits for the job's nodes.
    pub(crate) fn prepare_wait(&self, model: &ModelName) -> Duration {
        let settings = self.settings(model);
        settings.map_or(Duration::ZERO, |settings| settings.prepare_wait)
    }

    /// How many such partitions a user has at most.
    pub(crate) fn prepare_max(&self, model: &ModelName) -> u32 {
        let settings = self.settings(model);
        settings.map_or(0, |settings| settings.prepare_max)
    }

    /// How long a removal waits for a job's nodes.
    pub(crate) fn remove_wait(&self, model: &ModelName) -> Duration {
        let settings = self.settings(model);
        settings.map_or(Duration::ZERO, |settings| settings.remove_wait)
    }

    /// What becomes of a job whose partition fails while it runs.
    pub(crate) fn on_partition_error(&self, model: &ModelName) -> OnPartitionError {
        let settings = self.settings(model);
        settings.map_or(OnPartitionError::Leave, |settings| settings.on_partition_error)
    }

    /// What may be done for the failed jobs of a model.
    pub(crate) fn failure_limits(&self, model: &ModelName) -> FailureLimits {
        let settings = self.settings(model);
        settings.map_or(FailureLimits::default(), |own| FailureLimits {
            keep: own.max_keep,
            requeues: own.max_requeues,
        })
    }

    /// As the ledger wants them.
    pub(crate) fn facts(&self) -> Vec<ModelFacts> {
        self.0.iter().map(|(name, model)| model.facts(name, None)).collect()
    }
}
