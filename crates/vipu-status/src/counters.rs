//! Counters since the plugin was started.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::State;

/// The counters of the whole plugin. They begin at zero when the plugin is started ([`crate::Writer::started`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counters {
    /// The events that the ledger has taken.
    pub events: u64,
    /// The seconds that partitions spent in each state that they have left.
    pub seconds_in_state: BTreeMap<State, Histogram>,
    /// The seconds that Slurm waited for the plugin's answer whether a job may start (`select_p_job_test`),
    /// without the selector below.
    pub job_tests: Histogram,
    /// The seconds for which the writer of this document kept the ledger locked, for each portion of a copy. Slurm
    /// may wait meanwhile.
    #[serde(default)]
    pub ledger_held: Histogram,
    /// The journal.
    pub journal: Journal,
}

/// The journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Journal {
    /// The entries on disk since the plugin was started.
    pub entries: u64,
    /// The age of the oldest entry that is not on disk yet, in seconds. 0 if all are.
    pub lag: f64,
}

/// Measured values, by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histogram {
    /// The number of values up to each bound, the smallest bound first. Values above the last bound are in
    /// `count` only.
    pub buckets: Vec<Bucket>,
    /// The number of all values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Histogram {
    /// No values yet, with these bounds, the smallest first.
    #[must_use]
    pub fn new(bounds: &[f64]) -> Self {
        let buckets = bounds.iter().map(|up_to| Bucket { up_to: *up_to, count: 0 }).collect();
        Self { buckets, count: 0, sum: 0.0 }
    }

    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.buckets.iter_mut().filter(|bucket| value <= bucket.up_to).for_each(|bucket| bucket.count += 1);
        self.count += 1;
        self.sum += value;
    }

    /// The bound up to which this part of the values is; infinity if it is above the largest bound.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let is_enough = |bucket: &&Bucket| bucket.count as f64 >= self.count as f64 * part;
        self.buckets.iter().find(is_enough).map_or(f64::INFINITY, |bucket| bucket.up_to)
    }
}

/// The values up to a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bucket {
    /// The bound.
    pub up_to: f64,
    /// The number of values up to it, those of smaller bounds included.
    pub count: u64,
}
