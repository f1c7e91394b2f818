//! The heterogeneous jobs in line. All components of one start together: at the latest of the starts that a look at
//! each of them gave.
//!
//! The plans of a heterogeneous job count only while Slurm looks at all its components. Slurm starts it only then.

use std::collections::HashMap;
use std::time::Duration;

use crate::Seconds;

/// The last look at each component, by leader and component.
#[derive(Clone, Debug, Default)]
pub(crate) struct HetJobs(HashMap<u32, HashMap<u32, Look>>);

#[derive(Clone, Copy, Debug)]
struct Look {
    /// The start of the component, with those in line beside it. None if it is unknown.
    start: Option<Seconds>,
    at: Seconds,
}

impl HetJobs {
    /// Notes a look at a component. `components` has all of them, the leader first.
    pub(crate) fn note(&mut self, components: &[u32], component: u32, start: Option<Seconds>, at: Seconds) {
        let Some(leader) = components.first() else { return };
        self.0.entry(*leader).or_default().insert(component, Look { start, at });
    }

    /// The common start of these components. None if it is unknown, or if one of them was not looked at for so long.
    pub(crate) fn start(&self, components: &[u32], now: Seconds, patience: Duration) -> Option<Seconds> {
        let looks = self.0.get(components.first()?)?;
        let start = |component| {
            let look: &Look = looks.get(component)?;
            look.start.filter(|_| now.since(look.at) <= patience)
        };
        components.iter().map(start).try_fold(Seconds(i64::MIN), |latest, start| Some(latest.max(start?)))
    }

    /// Forgets the looks at a component that has begun, or that something other than IPUs keeps from starting.
    pub(crate) fn forget(&mut self, components: &[u32], component: u32) {
        if let Some(looks) = components.first().and_then(|leader| self.0.get_mut(leader)) {
            looks.remove(&component);
        }
    }

    /// Forgets the jobs that were not looked at for so long.
    pub(crate) fn sweep(&mut self, now: Seconds, patience: Duration) {
        self.0.retain(|_, looks| looks.values().any(|look| now.since(look.at) <= patience));
    }
}
