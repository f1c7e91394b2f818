//! One Pod model: its configuration, with the rules for partitions that stay after their jobs.

use std::time::Duration;

use vipu_types::{ControllerName, IpuCount, ModelName, Placement, PodId, Words};

/// The configuration of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// Its name.
    pub model: ModelName,
    /// Its controllers, in the order in which they are tried.
    pub controllers: Vec<ControllerName>,
    /// IPUs in one IPU-Link domain (LinkDomainSize).
    pub domain_size: IpuCount,
    /// The prefix of its partition ids (PartitionPrefix).
    pub prefix: String,
    /// The party that chooses the IPUs of a partition (Placement).
    pub placement: Placement,
    /// The time between two listings that were not asked for (ReconcileInterval).
    pub reconcile_interval: Duration,
    /// The largest partition a job may have (MaxIpusPerJob and the nodes' GRES count).
    pub largest: u32,
    /// Whether its jobs get partitions of a pool (Mode=pool).
    pub is_pool: bool,
    /// The rules for partitions that stay after their jobs.
    pub idle: IdleRules,
    /// The reason why none of its jobs can start for now, for example a broken `vipu.conf`.
    pub trouble: Option<Words>,
}

impl ModelFacts {
    /// A model whose controllers choose the IPUs of partitions. A job gets at most one IPU-Link domain. The other
    /// settings are the defaults of `vipu.conf`.
    pub fn new(model: ModelName, controllers: Vec<ControllerName>, domain_size: IpuCount) -> Self {
        Self {
            model,
            controllers,
            domain_size,
            prefix: "slurm".into(),
            placement: Placement::Controller,
            reconcile_interval: Duration::from_secs(30),
            largest: domain_size.get(),
            is_pool: false,
            idle: IdleRules::default(),
            trouble: None,
        }
    }

    /// The Pod of each of its controllers, in their order.
    pub fn pods(&self) -> impl Iterator<Item = PodId> {
        let pod =
            |controller: &ControllerName| PodId { model: self.model.clone(), controller: controller.clone() };
        self.controllers.iter().map(pod)
    }
}

/// The rules of a model for idle partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleRules {
    /// The longest time for which a partition stays idle (KeepIdle). Zero: none stays.
    pub keep: Duration,
    /// The most IPUs of one controller in idle partitions (KeepIdleMax). None: all.
    pub most: Option<u32>,
    /// The jobs for which a partition stays (KeepIdleFor).
    pub keep_for: KeepIdleFor,
    /// Whether a partition is reset before it is given to the same user again (ReuseReset).
    pub reset: ReuseReset,
    /// A number that changes with the settings by which partitions are made. Partitions that were made by other
    /// settings do not stay.
    pub settings: u64,
}

/// The jobs for which a partition stays. In both cases none stays while the first job in line wants another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepIdleFor {
    /// Those that wait: the first job in line wants this size.
    #[default]
    WaitingJobs,
    /// Also those that are not submitted yet. Meanwhile a job of another size may have to wait for the removal.
    AnyJob,
}

/// The jobs before which a partition is reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReuseReset {
    /// All. The reset is made when a job ends, or, for [`KeepIdleFor::WaitingJobs`], when the next one begins.
    #[default]
    Always,
    /// Those of another user than the last one. The reset is made when the next job begins.
    OtherUsers,
}

/// The configuration of a model, and its Pods.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    facts: ModelFacts,
    pods: Vec<PodId>,
}

impl Model {
    pub(crate) fn new(facts: ModelFacts) -> Self {
        Self { pods: facts.pods().collect(), facts }
    }

    pub(crate) fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// The Pod of each controller, in the order in which they are tried.
    pub(crate) fn pods(&self) -> &[PodId] {
        &self.pods
    }
}
