//! The decision of an administrator that nothing new starts on some IPUs.

use serde::{Deserialize, Serialize};

use crate::{Model, Place, Pod};

/// IPUs on which no partition is made until an administrator resumes them, or until a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Drain {
    /// The Pod model.
    pub model: String,
    /// The controller. None for all controllers of the model.
    pub controller: Option<String>,
    /// The IPU. None for a partition, or for all IPUs.
    pub place: Option<Place>,
    /// The partition of a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The reason, in the words of the administrator.
    pub reason: String,
    /// The name of the administrator.
    pub by: String,
    /// The time of the decision.
    pub since: i64,
    /// The time at which it ends by itself, if it does.
    pub until: Option<i64>,
}

impl Drain {
    /// Whether it is about all IPUs of the model or controller.
    pub fn is_whole(&self) -> bool {
        self.place.is_none() && self.partition.is_none()
    }

    /// The places of its IPUs on a Pod that it covers. None for all.
    pub fn places(&self, model: &Model, pod: &Pod) -> Option<Vec<Place>> {
        match (&self.partition, self.place) {
            (Some(partition), _) => Some(pod.places_in_pool(partition, model.domain_size)),
            (None, Some(place)) => Some(vec![place]),
            (None, None) => None,
        }
    }

    /// Whether it is about IPUs of this Pod. In a pool, a place is left from an earlier mode and covers no IPU.
    pub fn covers(&self, model: &Model, pod: &Pod) -> bool {
        self.model == model.name
            && self.controller.as_ref().is_none_or(|own| *own == pod.controller)
            && (self.place.is_none() || pod.pool.is_empty())
    }
}
