//! The free times of each model, kept until the next event or the next second.

use std::collections::HashMap;

use vipu_types::ModelName;

use crate::free_times::FreeTimes;
use crate::ipu_holders::IpuHolders;
use crate::{Seconds, Wish};

/// The last calculation for each model.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeTimesCache(HashMap<ModelName, CachedFreeTimes>);

/// The calculation for one model and one state of the ledger.
#[derive(Clone, Debug)]
pub(crate) struct CachedFreeTimes {
    /// The number of events that the ledger had taken.
    pub(crate) events: u64,
    /// The holders of the IPUs of its usable Pods.
    pub(crate) holders: Vec<IpuHolders>,
    pub(crate) free_times: FreeTimes,
    /// The second of the free times. None if plans have changed since.
    pub(crate) at: Option<Seconds>,
}

impl FreeTimesCache {
    /// Whether the kept calculation is for this state of the ledger and this second.
    pub(crate) fn is_fresh(&self, model: &ModelName, events: u64, now: Seconds) -> bool {
        self.0.get(model).is_some_and(|cached| cached.events == events && cached.at == Some(now))
    }

    /// Takes out the holders of the IPUs of a model's Pods, if no event has come since.
    pub(crate) fn take_holders(&mut self, model: &ModelName, events: u64) -> Option<Vec<IpuHolders>> {
        let cached = self.0.remove(model).filter(|cached| cached.events == events)?;
        Some(cached.holders)
    }

    /// Keeps the calculation for a model.
    pub(crate) fn keep(&mut self, model: &ModelName, cached: CachedFreeTimes) {
        self.0.insert(model.clone(), cached);
    }

    /// The kept calculation for a model. Panics without an earlier [`FreeTimesCache::keep`].
    pub(crate) fn of(&self, model: &ModelName) -> &CachedFreeTimes {
        &self.0[model]
    }

    /// Notes a new or changed wish.
    pub(crate) fn changed(&mut self, wish: &Wish) {
        if let Some(cached) = self.0.get_mut(&wish.model)
            && cached.free_times.minds(wish)
        {
            cached.at = None;
        }
    }
}
