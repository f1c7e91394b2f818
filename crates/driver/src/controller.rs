//! The driver's interface to a V-IPU controller.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use ledger::{PoolPartition, SeenPartition};
use vipu_types::{ControllerName, IpuCount, JobRun, PartitionId, Place, Shape, Words};

use crate::broken_hosts::BrokenHosts;
use crate::{CallError, ModelSettings};

/// One controller end-point. Every call ends within the controller's own deadline.
pub trait Controller: Sized + 'static {
    /// The data that a task needs to reach its IPUs. The driver only passes it to [`crate::Files`].
    type Config: 'static;

    /// Host and port, for messages.
    fn name(&self) -> impl Display;

    /// Another controller with the settings of this one.
    fn beside(&self, name: &ControllerName) -> Result<Self, Words>;

    /// Asks for a partition. `Ok` means that the controller took the request. The partition may not be usable
    /// yet.
    fn create(&self, request: &CreateRequest<'_>) -> impl Future<Output = Result<(), CallError>>;

    /// The state of a partition. A partition that does not exist is [`PartitionState::Absent`], not an error.
    fn status(&self, partition: &PartitionId) -> impl Future<Output = Result<PartitionState, CallError>>;

    /// The partitions that are being made or reset, from one call for all. A partition that is not among them may have any
    /// state.
    fn pending(
        &self,
        settings: &ModelSettings,
    ) -> impl Future<Output = Result<BTreeSet<PartitionId>, CallError>>;

    /// The IPUoF configuration of all GCDs of an active partition. It is never empty.
    fn ipuof_config(&self, partition: &PartitionId) -> impl Future<Output = Result<Self::Config, CallError>>;

    /// Asks to remove a partition. The answer is `Ok` also if there is none. With `force` the controller
    /// ignores errors on the way.
    fn remove(&self, partition: &PartitionId, force: bool) -> impl Future<Output = Result<(), CallError>>;

    /// Asks to reset a partition to its initial state. `Ok` means that the controller took the request.
    fn reset(&self, partition: &PartitionId) -> impl Future<Output = Result<(), CallError>>;

    /// Notes that a partition stays idle after its job, and how long it took to make it idle.
    fn stays_idle(&self, _partition: &PartitionId, _took: Duration) {}

    /// Notes that a job has an idle partition now: the run that had it before, as far as is known, and how long
    /// the change took.
    fn reused(&self, _partition: &PartitionId, _before: Option<JobRun>, _took: Duration) {}

    /// All IPUs and partitions that concern partitions with these settings.
    fn survey(&self, settings: &ModelSettings) -> impl Future<Output = Result<Listing, CallError>>;

    /// Notes that the controller has begun to answer surveys, for the first time or again. Nothing waits for
    /// the end of this.
    fn begins_to_answer(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

/// A request for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateRequest<'a> {
    /// Its id.
    pub partition: &'a PartitionId,
    /// Its IPUs.
    pub size: IpuCount,
    /// IPUs in one IPU-Link domain. A larger partition is requested as several segments.
    pub domain_size: IpuCount,
    /// The division and the wiring.
    pub shape: Shape,
    /// The chosen IPUs. Empty if the controller chooses.
    pub ipus: &'a [Place],
    /// The V-IPU cluster of `ipus`.
    pub cluster: Option<&'a str>,
    /// The allocation to take the IPUs from. `None` means any.
    pub allocation: Option<&'a str>,
}

/// The state of a partition, as its controller reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// There is no such partition, or no longer.
    Absent,
    /// The partition is being made.
    Pending,
    /// The partition can be used.
    Active,
    /// The controller is resetting the partition after an error. It may still come up.
    Resetting,
    /// The partition is in error for good. Has the controller's words.
    Failed(Words),
    /// The partition is being removed.
    Removing,
    /// The controller shows the partition as removed. It is not usable any more, but its name and its IPUs
    /// are not free yet.
    Removed,
}

/// The IPUs and partitions of a model on one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// All IPUs.
    pub ipus: u32,
    /// The unusable ones among them.
    pub faulty: u32,
    /// All partitions, also those of others.
    pub partitions: Vec<SeenPartition>,
    /// Those of the pool among them.
    pub pool: Vec<PoolPartition>,
    /// The hosts whose own IPUs cannot be used. Faulty IPUs are then counted here only.
    pub broken_hosts: BrokenHosts,
}
