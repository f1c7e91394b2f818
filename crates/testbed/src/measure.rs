//! Measurements against stock Slurm, for `cargo xtask bench`.

pub mod launch_delay;
mod ratio;
pub mod scheduling_cost;

pub use ratio::Ratio;
