//! What the driver needs of a V-IPU controller, in the driver's own terms.

use std::fmt::Display;
use std::future::Future;

use ledger::SeenPartition;
use vipu_types::{ControllerName, IpuCount, PartitionId, Place, Shape};

use crate::{CallError, ModelSettings};

/// One controller end-point. Every call ends by itself, within the controller's own deadline.
pub trait Controller: Sized + 'static {
    /// What a task needs to reach its IPUs; the driver only carries it to [`crate::Files`].
    type Config: 'static;

    /// Host and port, for messages.
    fn name(&self) -> impl Display;

    /// Another controller, dealt with as this one is.
    ///
    /// # Errors
    /// When there can be no such; for people.
    fn beside(&self, name: &ControllerName) -> Result<Self, String>;

    /// Asks for a partition; `Ok` when the controller took the request, maybe before it is usable.
    fn create(&self, request: &CreateRequest<'_>) -> impl Future<Output = Result<(), CallError>>;

    /// How far a partition is; one that does not exist is [`PartitionState::Absent`], no error.
    fn status(&self, partition: &PartitionId) -> impl Future<Output = Result<PartitionState, CallError>>;

    /// The IPUoF configuration of all GCDs of an active partition, never an empty one.
    fn ipuof_config(&self, partition: &PartitionId) -> impl Future<Output = Result<Self::Config, CallError>>;

    /// Asks to remove a partition; `Ok` also when there is none. With `force` the controller
    /// ignores what goes wrong on the way.
    fn remove(&self, partition: &PartitionId, force: bool) -> impl Future<Output = Result<(), CallError>>;

    /// All IPUs and partitions there are for partitions with these settings.
    fn survey(&self, settings: &ModelSettings) -> impl Future<Output = Result<Listing, CallError>>;
}

/// What to ask of the controller when a partition is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateRequest<'a> {
    /// Its id.
    pub partition: &'a PartitionId,
    /// Its IPUs.
    pub size: IpuCount,
    /// IPUs in one IPU-Link domain: a larger partition has to be asked for as several segments.
    pub domain_size: IpuCount,
    /// How it is divided and wired.
    pub shape: Shape,
    /// Exactly these IPUs; empty when the controller chooses.
    pub ipus: &'a [Place],
    /// The V-IPU cluster that `ipus` are of.
    pub cluster: Option<&'a str>,
    /// The allocation to take the IPUs from; any when `None`.
    pub allocation: Option<&'a str>,
}

/// How far a partition is, as its controller tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// There is no such partition (any more).
    Absent,
    /// It is being made.
    Pending,
    /// It can be used.
    Active,
    /// It met an error and the controller is resetting it by itself: it may still come up.
    Resetting,
    /// It met an error and stays so; the controller's words.
    Failed(String),
    /// It is being removed.
    Removing,
    /// The controller shows it as removed: it is not usable any more, but its name and its IPUs are not free
    /// yet.
    Removed,
}

/// What a controller has for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// All IPUs.
    pub ipus: u32,
    /// Those of them that cannot be used.
    pub faulty: u32,
    /// All partitions, whoever made them.
    pub partitions: Vec<SeenPartition>,
}
