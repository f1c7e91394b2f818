//! IPUs and nodes that are shared with other jobs, Slurm partitions, controllers and clusters.

mod controller_nodes;
mod federation;
mod foreign_partitions;
mod layering;
mod models_and_controllers;
mod two_slurm_clusters;
