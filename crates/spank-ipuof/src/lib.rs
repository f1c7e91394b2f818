//! The plugin spank_ipuof.so, which gives every task its IPUoF environment.
//!
//! A line in `plugstack.conf` loads it: `required spank_ipuof.so ipuof_dir=/shared/ipuof`. In slurmstepd it
//! acts once in each task of each step, as the user. `environment_change` decides from values alone what a
//! task gets, and `task` carries it out. Slurm sees only the module `export`. With `Delivery=node`,
//! `fetch_program` fetches the config files before the tasks start, as root, into the step's own directory
//! (`step`). `node_fitness` checks whether a task can reach IPUs from the node.
#![deny(unsafe_code)]

mod environment_change;
#[allow(unsafe_code, reason = "Slurm calls C functions and offers C functions")]
mod export;
mod fetch_program;
mod input;
mod node_fitness;
mod sharing;
mod step;
mod task;
