//! A claim: the right of one run of a job to a partition.

use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, Place, PodId, Shape};

/// The right of one run of a job to a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The partition's id on its controller.
    pub partition: PartitionId,
    /// The run.
    pub run: JobRun,
    /// The job array and the number of the task, if the job is one. After a kill Slurm may know the task by the array alone.
    pub task: Option<(u32, u32)>,
    /// The user who may read its IPUoF file.
    pub user: u32,
    /// The Pod model of its IPUs.
    pub model: ModelName,
    /// The controller of the partition.
    pub controller: ControllerName,
    /// Its size.
    pub size: IpuCount,
    /// The division and the wiring.
    pub shape: Shape,
    /// The Slurm partition of the job, for limits. None if it is unknown.
    pub slurm_partition: Option<String>,
    /// The chosen IPUs ([`crate::Placement::Explicit`]). Empty if the controller chooses.
    pub ipus: Vec<Place>,
    /// The names of the run's nodes, for the slurmctld after this one. Empty before the run has nodes.
    pub nodes: Vec<String>,
}

impl Claim {
    /// The Pod of its IPUs.
    pub fn pod(&self) -> PodId {
        PodId { model: self.model.clone(), controller: self.controller.clone() }
    }

    /// Whether a partition made for this claim also serves the other claim.
    pub fn is_as_good_as(&self, other: &Claim) -> bool {
        let anybodys = |claim: &Claim| Claim {
            run: other.run,
            task: other.task,
            slurm_partition: None,
            ipus: Vec::new(),
            nodes: Vec::new(),
            ..claim.clone()
        };
        anybodys(self) == anybodys(other) && self.run.restart == other.run.restart
    }
}

/// The age of a claim: later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Serial(pub(crate) u64);
