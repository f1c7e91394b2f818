//! The decisions of administrators that nothing new starts on some IPUs.

use std::fmt;

use vipu_types::{ControllerName, ModelName, PartitionId, Place, PodId};

use crate::Seconds;

/// The IPUs that a drain is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainScope {
    /// The Pod model.
    pub model: ModelName,
    /// The controller. None for all controllers of the model.
    pub controller: Option<ControllerName>,
    /// The part of the IPUs of the model or controller.
    pub part: DrainedPart,
}

/// A part of the IPUs of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrainedPart {
    /// All IPUs.
    All,
    /// One IPU. It has no meaning in a pool, because the controller does not tell the places of IPUs there.
    Ipu(Place),
    /// A partition of a pool.
    Partition(PartitionId),
}

impl DrainScope {
    fn covers(&self, pod: &PodId) -> bool {
        self.model == pod.model && self.controller.as_ref().is_none_or(|own| *own == pod.controller)
    }
}

impl fmt::Display for DrainScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            DrainedPart::All => {}
            DrainedPart::Ipu(place) => write!(f, "{place} of ")?,
            DrainedPart::Partition(partition) => write!(f, "partition {partition} of ")?,
        }
        match &self.controller {
            Some(controller) => write!(f, "{} ({controller})", self.model),
            None => write!(f, "{}", self.model),
        }
    }
}

/// No new partition is made on these IPUs. Partitions that exist there stay until their jobs end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The IPUs.
    pub scope: DrainScope,
    /// The reason, in the words of the administrator.
    pub reason: String,
    /// The name of the administrator.
    pub by: String,
    /// The time of the decision.
    pub since: Seconds,
    /// The time at which the front end ends it, for forecasts. None if only an administrator does.
    pub until: Option<Seconds>,
}

/// The IPUs of one Pod that a drain covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DrainedIpus {
    pub(crate) part: DrainedPart,
    pub(crate) until: Option<Seconds>,
}

/// All drains, the first decision first. Each scope has at most one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drains(Vec<Drain>);

impl Drains {
    /// Adds a drain, which replaces an earlier one of its scope.
    pub(crate) fn add(&mut self, drain: Drain) {
        self.remove(&drain.scope);
        self.0.push(drain);
    }

    /// Ends the drain of exactly this scope.
    pub(crate) fn remove(&mut self, scope: &DrainScope) {
        self.0.retain(|drain| drain.scope != *scope);
    }

    pub(crate) fn all(&self) -> &[Drain] {
        &self.0
    }

    /// The reason why a whole Pod is drained.
    pub(crate) fn reason_for_all_of(&self, pod: &PodId) -> Option<&str> {
        let mut whole = self.0.iter().filter(|drain| drain.scope.part == DrainedPart::All);
        whole.find(|drain| drain.scope.covers(pod)).map(|drain| drain.reason.as_str())
    }

    /// The drained IPUs of a Pod.
    pub(crate) fn of_pod(&self, pod: &PodId) -> Vec<DrainedIpus> {
        let own = self.0.iter().filter(|drain| drain.scope.covers(pod));
        own.map(|drain| DrainedIpus { part: drain.scope.part.clone(), until: drain.until }).collect()
    }
}
