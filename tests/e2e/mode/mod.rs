//! The ways in which the jobs of a model get their IPUs (`Mode`).

mod host;
mod numeric_gres_types;
pub(crate) mod pool;
mod pool_of_forgotten_job;
mod pool_of_lost_node;
mod shared;
mod whole;
