//! Measurements of slurm-vipu beside stock Slurm, for `cargo xtask bench`.
//!
//! Each measurement alternates between both sides within one run of this machine, and returns rows. A row has a ratio
//! (or a difference) with its 95 % interval, a target and a verdict. No absolute time is judged.
#![forbid(unsafe_code)]
// Only tasks and tests of this workspace call this crate: comments stand where a name does not say it all.
#![allow(missing_docs)]

mod burst;
mod client;
mod estimate;
mod gate;
mod jobs_per_second;
mod launch;
mod memory;
mod prolog;
mod row;
mod scheduling;
mod sides;
mod squeue;
pub mod table;

pub use estimate::Estimate;
pub use row::{Row, Target, Verdict};

use anyhow::Result;

/// The size of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// For docs/bench.md.
    Full {
        /// The bound on the pairs of each row.
        most_pairs: usize,
    },
    /// For a test that each measurement still works.
    Smoke,
}

impl Extent {
    pub(crate) fn of<T>(self, full: T, smoke: T) -> T {
        match self {
            Self::Full { .. } => full,
            Self::Smoke => smoke,
        }
    }

    /// The number of pairs of a row that has `full` pairs in docs/bench.md.
    pub(crate) fn pairs(self, full: usize) -> usize {
        match self {
            Self::Full { most_pairs } => full.min(most_pairs),
            Self::Smoke => 1,
        }
    }
}

pub struct Measurement {
    pub name: &'static str,
    pub measure: fn(Extent) -> Result<Vec<Row>>,
}

/// All measurements, in the order of the table.
pub const MEASUREMENTS: [Measurement; 7] = [
    Measurement { name: "launch", measure: launch::measure },
    Measurement { name: "burst", measure: burst::measure },
    Measurement { name: "jobs", measure: jobs_per_second::measure },
    Measurement { name: "scheduling", measure: scheduling::measure },
    Measurement { name: "squeue", measure: squeue::measure },
    Measurement { name: "memory", measure: memory::measure },
    Measurement { name: "client", measure: client::measure },
];

pub fn names() -> impl Iterator<Item = &'static str> {
    MEASUREMENTS.iter().map(|measurement| measurement.name)
}
