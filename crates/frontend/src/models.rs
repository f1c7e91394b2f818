//! The Pod models of this cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ledger::{IdleRules, KeepIdleFor, ModelFacts, Placement, ReuseReset};
use vipu_conf::{Accounting, AuditLevel, AuditTo, Mode, OnPartitionError, Settings, SizePolicy};
use vipu_types::{
    ControllerName, Delivery, GresRequest, GresType, IpuCount, ModelName, PartitionId, PodId, RequeuePause,
    Words,
};

use crate::cabling::Cabling;

/// One model, with its settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The largest partition of a job, in IPUs.
    pub largest: u32,
    /// The sizes of partitions that nodes offer as GRES types. `None` if the type is the name of the model.
    pub sizes: Option<BTreeSet<IpuCount>>,
    /// The settings from its file. `None` until the file was good once; until then the model has no jobs.
    pub settings: Option<Settings>,
    /// The IPUs that belong to nodes. `None`: jobs on any node get IPUs of any controller.
    pub cabling: Option<Arc<Cabling>>,
}

/// All models, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models(pub BTreeMap<ModelName, Model>);

/// The largest partition size not above `limit`.
pub(crate) fn size_below(limit: u32) -> u64 {
    limit.checked_ilog2().map_or(0, |log| 1 << log)
}

/// The site's limits on remedies for the failed jobs of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FailureLimits {
    /// The time for which a partition stays although a job waits for its IPUs (MinKeep).
    pub(crate) least_keep: Duration,
    /// The longest time for which a partition stays (MaxKeep). Zero: partitions do not stay.
    pub(crate) keep: Duration,
    /// The number of requeues after which a failed job is not requeued any more (MaxRequeues).
    pub(crate) requeues: u32,
    /// The pauses before further runs of a requeued job (RequeuePause).
    pub(crate) pause: RequeuePause,
}

impl Model {
    /// A model with a limit only.
    #[cfg(test)]
    pub(crate) fn of_size(largest: u32) -> Self {
        Self { largest, sizes: None, settings: None, cabling: None }
    }

    /// IPUs in one IPU-Link domain. Without settings, and so without jobs, the largest number that there is.
    pub(crate) fn link_domain(&self) -> IpuCount {
        self.settings.as_ref().map_or(IpuCount::LARGEST, |own| own.link_domain_size)
    }

    /// The request for this number of IPUs, of the model called `name`.
    pub(crate) fn request(&self, name: &ModelName, ipus: Option<u64>) -> GresRequest {
        match (&self.sizes, ipus) {
            (None, None) => GresRequest { of: Some(GresType::Model(name.clone())), count: None },
            (None, Some(ipus)) => GresRequest::of_one(GresType::Model(name.clone()), ipus),
            (Some(_), ipus) => GresRequest::of_one(GresType::Size(ipus.unwrap_or(1)), 1),
        }
    }

    /// Whether its jobs get partitions of a pool.
    pub(crate) fn is_pool(&self) -> bool {
        self.settings.as_ref().is_some_and(|own| own.mode == Mode::Pool)
    }

    /// The size of all its partitions, if each job gets a whole Pod.
    pub(crate) fn only_size(&self) -> Option<IpuCount> {
        let is_whole = self.settings.as_ref().is_some_and(|own| own.mode == Mode::Whole);
        self.whole().filter(|_| is_whole)
    }

    /// Whether each host has IPUs of its own.
    pub(crate) fn has_hosts(&self) -> bool {
        self.settings.as_ref().is_some_and(|own| own.mode == Mode::Host)
    }

    /// The sizes of its partitions, if each host has IPUs of its own.
    pub(crate) fn host_sizes(&self) -> Option<BTreeSet<IpuCount>> {
        Some(self.cabling.as_ref().filter(|_| self.has_hosts())?.sizes())
    }

    /// The largest size of a partition. None if no job can have a partition.
    pub(crate) fn whole(&self) -> Option<IpuCount> {
        IpuCount::new(size_below(self.largest)).ok()
    }

    /// Whether a number of IPUs between two partition sizes is rounded up.
    pub(crate) fn rounds_up(&self) -> bool {
        self.settings.as_ref().is_some_and(|own| own.size_policy == SizePolicy::RoundUp)
    }

    /// Its controllers, in the order in which they are tried.
    fn controllers(&self) -> &[ControllerName] {
        self.settings.as_ref().map_or(&[], |own| &own.controllers)
    }

    /// The model in the form of the ledger. `trouble` is the reason why its jobs cannot start, if there is
    /// one.
    pub fn facts(&self, name: &ModelName, trouble: Option<Words>) -> ModelFacts {
        ModelFacts {
            model: name.clone(),
            controllers: self.controllers().to_vec(),
            // Of a partition that all jobs share, any IPUs are as good as others.
            domain_size: match self.settings.as_ref().filter(|own| own.shared_partition.is_none()) {
                Some(own) => own.link_domain_size,
                None => IpuCount::ONE,
            },
            prefix: self.settings.as_ref().map(|own| own.partition_prefix.clone()).unwrap_or_default(),
            placement: match self.settings.as_ref().map(|own| own.placement) {
                _ if self.has_hosts() => Placement::Explicit,
                Some(vipu_conf::Placement::Explicit) => Placement::Explicit,
                Some(vipu_conf::Placement::Controller) | None => Placement::Controller,
            },
            reconcile_interval: self.settings.as_ref().map(|own| own.reconcile_interval).unwrap_or_default(),
            largest: self.largest,
            is_pool: self.is_pool(),
            idle: self.settings.as_ref().map(idle_rules).unwrap_or_default(),
            trouble,
        }
    }
}

fn idle_rules(settings: &Settings) -> IdleRules {
    let mut hasher = DefaultHasher::new();
    format!("{settings:?}").hash(&mut hasher);
    IdleRules {
        keep: settings.keep_idle,
        most: settings.keep_idle_max,
        keep_for: match settings.keep_idle_for {
            vipu_conf::KeepIdleFor::WaitingJobs => KeepIdleFor::WaitingJobs,
            vipu_conf::KeepIdleFor::AnyJob => KeepIdleFor::AnyJob,
        },
        reset: match settings.reuse_reset {
            vipu_conf::ReuseReset::Always => ReuseReset::Always,
            vipu_conf::ReuseReset::OtherUsers => ReuseReset::OtherUsers,
        },
        settings: hasher.finish(),
    }
}

impl Models {
    /// The GRES type of a job with a partition of this size: the model, or the size if nodes offer sizes.
    /// Slurm's selector and its accounting know the job by it.
    pub fn gres_type(&self, model: &ModelName, size: IpuCount) -> GresType {
        match self.0.get(model) {
            Some(Model { sizes: Some(_), .. }) => GresType::Size(size.get().into()),
            _ => GresType::Model(model.clone()),
        }
    }

    /// The GRES types of all jobs of a model.
    pub fn gres_types(&self, model: &ModelName) -> Vec<GresType> {
        let sizes = self.0.get(model).and_then(|model| model.sizes.as_ref());
        let of_sizes = |sizes: &BTreeSet<_>| sizes.iter().map(|size| self.gres_type(model, *size)).collect();
        sizes.map_or_else(|| vec![GresType::Model(model.clone())], of_sizes)
    }

    /// A model by a GRES type of its jobs.
    pub(crate) fn by_gres_type(&self, of: &GresType) -> Option<(&ModelName, &Model)> {
        match of {
            GresType::Model(name) => self.0.get_key_value(name),
            GresType::Size(_) => self.0.iter().find(|(_, model)| model.sizes.is_some()),
        }
    }

    /// The settings in force of a model.
    pub(crate) fn settings(&self, model: &ModelName) -> Option<&Settings> {
        self.0.get(model)?.settings.as_ref()
    }

    /// The way in which tasks get the description of their IPUs. None if the model has no settings.
    pub(crate) fn delivery(&self, model: &ModelName) -> Option<Delivery> {
        Some(self.settings(model)?.delivery)
    }

    /// The nodes of a controller (Nodes). Empty: all nodes of the model.
    pub(crate) fn nodes_of(&self, pod: &PodId) -> String {
        let nodes = self.settings(&pod.model).and_then(|own| own.nodes.get(&pod.controller));
        nodes.cloned().unwrap_or_default()
    }

    /// The controller that is tried first. None if the model has no settings.
    pub fn first_controller(&self, model: &ModelName) -> Option<ControllerName> {
        self.0.get(model)?.controllers().first().cloned()
    }

    /// The way in which the jobs of a model get their IPUs.
    pub(crate) fn mode(&self, model: &ModelName) -> Option<Mode> {
        Some(self.settings(model)?.mode)
    }

    /// Whether each host of a model has IPUs of its own.
    pub(crate) fn has_hosts(&self, model: &ModelName) -> bool {
        self.0.get(model).is_some_and(Model::has_hosts)
    }

    /// The partition that all jobs of a model share, if they do.
    pub(crate) fn shared_partition(&self, model: &ModelName) -> Option<PartitionId> {
        self.settings(model)?.shared_partition.clone()
    }

    /// The directory for the IPUoF files of a model, if it has one.
    pub fn ipuof_dir(&self, model: &ModelName) -> Option<PathBuf> {
        self.settings(model)?.ipuof_dir.clone()
    }

    /// The directories of the status document for all users: StatusDir, or IpuofDir.
    pub fn status_dirs(&self) -> BTreeSet<PathBuf> {
        let settings = self.0.values().filter_map(|model| model.settings.as_ref());
        settings.filter_map(|own| own.status_dir.clone().or_else(|| own.ipuof_dir.clone())).collect()
    }

    /// The group that may read the whole status document (StatusGroup): that of the first model that has one.
    pub fn status_group(&self) -> Option<String> {
        self.0.values().filter_map(|model| model.settings.as_ref()).find_map(|own| own.status_group.clone())
    }

    /// Whether the audit log has the requests of administrators: AuditLevel of any model.
    pub fn audits_administrators(&self) -> bool {
        let mut settings = self.0.values().filter_map(|model| model.settings.as_ref());
        settings.any(|own| own.audit_level != AuditLevel::No)
    }

    /// Whether the audit log goes to syslog: AuditTo of any model.
    pub fn audits_to_syslog(&self) -> bool {
        let mut settings = self.0.values().filter_map(|model| model.settings.as_ref());
        settings.any(|own| own.audit_to == AuditTo::Syslog)
    }

    /// The way in which Slurm counts the IPUs of a model's jobs (Accounting).
    pub fn accounting(&self, model: &ModelName) -> Accounting {
        self.settings(model).map_or(Accounting::Gres, |own| own.accounting)
    }

    /// Whether sacct has a line for the partition of each job (AccountingSteps).
    pub(crate) fn has_partition_lines(&self, model: &ModelName) -> bool {
        self.settings(model).is_some_and(|own| own.accounting_steps)
    }

    /// The most IPUs of this model that all jobs of a Slurm partition may have together, if there is a limit.
    pub(crate) fn limit_of(&self, model: &ModelName, slurm_partition: &str) -> Option<u32> {
        let settings = self.settings(model)?;
        settings.ipus_per_slurm_partition.get(slurm_partition).copied()
    }

    /// Whether the partition of a job is made before the job has nodes (Prepare). Those of a pool are there.
    pub(crate) fn prepares(&self, model: &ModelName, is_batch: bool) -> bool {
        let settings =
            self.settings(model).filter(|settings| matches!(settings.mode, Mode::Partition | Mode::Pool));
        settings.is_some_and(|settings| settings.prepare.is_for(is_batch))
    }

    /// The time for which a prepared partition waits for the job's nodes (PrepareWait).
    pub(crate) fn prepare_wait(&self, model: &ModelName) -> Duration {
        let settings = self.settings(model);
        settings.map_or(Duration::ZERO, |settings| settings.prepare_wait)
    }

    /// The most prepared partitions of one user (PrepareMax).
    pub(crate) fn prepare_max(&self, model: &ModelName) -> u32 {
        let settings = self.settings(model);
        settings.map_or(0, |settings| settings.prepare_max)
    }

    /// The time for which a removal waits for a job's nodes (RemoveWait).
    pub(crate) fn remove_wait(&self, model: &ModelName) -> Duration {
        let settings = self.settings(model);
        settings.map_or(Duration::ZERO, |settings| settings.remove_wait)
    }

    /// The policy for a running job whose partition fails (OnPartitionError).
    pub(crate) fn on_partition_error(&self, model: &ModelName) -> OnPartitionError {
        let settings = self.settings(model);
        settings.map_or(OnPartitionError::Leave, |settings| settings.on_partition_error)
    }

    /// The limits on remedies for the failed jobs of a model.
    pub(crate) fn failure_limits(&self, model: &ModelName) -> FailureLimits {
        let settings = self.settings(model);
        settings.map_or(FailureLimits::default(), |own| FailureLimits {
            keep: own.max_keep,
            least_keep: own.min_keep,
            requeues: own.max_requeues,
            pause: own.requeue_pause,
        })
    }

    /// The models in the form of the ledger.
    pub(crate) fn facts(&self) -> Vec<ModelFacts> {
        self.0.iter().map(|(name, model)| model.facts(name, None)).collect()
    }
}
