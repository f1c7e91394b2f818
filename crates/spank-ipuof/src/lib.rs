//! spank_ipuof.so: gives every task its IPUoF environment.
//!
//! A line in `plugstack.conf` loads it: `required spank_ipuof.so ipuof_dir=/shared/ipuof`. In
//! slurmstepd it acts once in each task of each step, as the user. What a task gets is decided
//! in `environment_change` from values alone; `task` carries it out; the `export` module is all that Slurm
//! sees. Where a node fetches its config files itself, `fetch_program` has that done before, as root, into
//! the step's own directory, `step`. `node_fitness` looks whether a task can reach IPUs from the node.
#![deny(unsafe_code)]

mod arguments;
mod environment_change;
#[allow(unsafe_code, reason = "Slurm calls C functions and offers C functions")]
mod export;
mod fetch_program;
mod input;
mod node_fitness;
mod sharing;
mod step;
mod task;
mod without;
