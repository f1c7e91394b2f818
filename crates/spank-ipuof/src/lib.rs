//! spank_ipuof.so: gives every task its IPUoF environment.
//!
//! A line in `plugstack.conf` loads it: `required spank_ipuof.so ipuof_dir=/shared/ipuof`. Only
//! slurmstepd makes it act, once in each task of each step, as the user. What a task gets is decided
//! in [`plan`] from values alone; [`task`] carries it out; the `export` module is all that Slurm sees.
#![deny(unsafe_code)]

mod arguments;
#[allow(unsafe_code, reason = "Slurm calls C functions and offers C functions")]
mod export;
mod plan;
mod task;
