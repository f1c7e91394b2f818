//! The free times of each model, kept until something happens or a second goes by.

use std::collections::HashMap;

use vipu_types::ModelName;

use crate::free_times::FreeTimes;
use crate::ipu_holders::IpuHolders;
use crate::{Seconds, Wish};

/// What was last calculated for each model.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeTimesCache(HashMap<ModelName, CachedFreeTimes>);

/// One model as of one state of the ledger.
#[derive(Clone, Debug)]
pub(crate) struct CachedFreeTimes {
    /// How many events the ledger had taken in.
    pub(crate) events: u64,
    /// Of its usable Pods.
    pub(crate) holders: Vec<IpuHolders>,
    pub(crate) free_times: FreeTimes,
    /// The second that the free times are for; none when plans have changed since.
    pub(crate) at: Option<Seconds>,
}

impl FreeTimesCache {
    /// Whether what is kept of a model is of this state of the ledger and this second.
    pub(crate) fn is_fresh(&self, model: &ModelName, events: u64, now: Seconds) -> bool {
        self.0.get(model).is_some_and(|cached| cached.events == events && cached.at == Some(now))
    }

    /// Who has the IPUs of a model's Pods, if no event has come since.
    pub(crate) fn take_holders(&mut self, model: &ModelName, events: u64) -> Option<Vec<IpuHolders>> {
        let cached = self.0.remove(model).filter(|cached| cached.events == events)?;
        Some(cached.holders)
    }

    /// Keeps what was calculated for a model.
    pub(crate) fn keep(&mut self, model: &ModelName, cached: CachedFreeTimes) {
        self.0.insert(model.clone(), cached);
    }

    /// What is kept of a model; something is, after [`FreeTimesCache::keep`].
    pub(crate) fn of(&self, model: &ModelName) -> &CachedFreeTimes {
        &self.0[model]
    }

    /// A wish is new or another.
    pub(crate) fn changed(&mut self, wish: &Wish) {
        if let Some(cached) = self.0.get_mut(&wish.model)
            && cached.free_times.minds(wish)
        {
            cached.at = None;
        }
    }
}
