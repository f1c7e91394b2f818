//! The objects of the API group `graphcore.ai`.

mod count;
mod crds;
mod ipu_job;
mod ipu_job_status;
mod ipu_partition;
mod schema;

pub use count::{BadCount, count};
pub use crds::{crds, crds_as_yaml};
pub use ipu_job::{
    CleanPodPolicy, Interactive, IpuJob, IpuJobSpec, Launcher, RestartPolicy, RestartType, RollingUpdate,
    Strategy, Workers,
};
pub use ipu_job_status::{
    ConditionType, InstanceState, InstanceStatus, IpuJobStatus, JobCondition, Outcome, WorkersStatus,
};
pub use ipu_partition::{IpuJobReference, IpuPartition, IpuPartitionSpec};

/// The finalizer of an IPUJob. It keeps the object until its partitions are gone.
pub const FINALIZER: &str = "ipu.finalizers.graphcore.ai";
