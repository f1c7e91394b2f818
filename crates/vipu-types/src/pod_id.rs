//! The identity of a Pod.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ControllerName, ModelName};

/// One Pod of a model: the IPUs of one of its controllers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodId {
    /// The model.
    pub model: ModelName,
    /// The controller.
    pub controller: ControllerName,
}

/// For example `pod64 (vipu1:8090)`.
impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.model, self.controller)
    }
}
