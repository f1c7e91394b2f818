//! A claim: the partition that one run of a job is entitled to.

use vipu_types::{ControllerName, IpuCount, JobRun, ModelName, PartitionId, Place, PodId, Shape};

/// A partition that one run of a job is entitled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The partition's id on its controller.
    pub partition: PartitionId,
    /// The run it is for.
    pub run: JobRun,
    /// The user who shall read its IPUoF file.
    pub user: u32,
    /// The Pod model it comes from.
    pub model: ModelName,
    /// The controller that has it.
    pub controller: ControllerName,
    /// Its size.
    pub size: IpuCount,
    /// How it is divided and wired.
    pub shape: Shape,
    /// The Slurm partition that the job is in, for limits; none when nobody knows.
    pub slurm_partition: Option<String>,
    /// Exactly these IPUs ([`crate::Placement::Explicit`]); empty when the controller chooses.
    pub ipus: Vec<Place>,
}

impl Claim {
    /// The Pod that its IPUs are of.
    #[must_use]
    pub fn pod(&self) -> PodId {
        PodId { model: self.model.clone(), controller: self.controller.clone() }
    }

    /// Whether a partition that was made for this claim does for another one as well.
    #[must_use]
    pub fn is_as_good_as(&self, other: &Claim) -> bool {
        let anybodys = |claim: &Claim| Claim {
            run: other.run,
            slurm_partition: None,
            ipus: Vec::new(),
            ..claim.clone()
        };
        anybodys(self) == anybodys(other) && self.run.restart == other.run.restart
    }
}

/// The age of a claim: later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Serial(pub(crate) u64);
