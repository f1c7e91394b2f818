//! One Pod model of the configuration.

use vipu_types::PodId;

use crate::ModelFacts;

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
